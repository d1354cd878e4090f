// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"fmt"
	"math"
)

// MaxControlBytes limits every control message. Longer content is split.
const MaxControlBytes = 16 << 10

// Kind is the first byte of every message after the hello.
type Kind uint8

// The kinds of messages. They are part of the wire protocol.
const (
	KindPage         Kind = 0x01 // a page of user messages; see package bus
	KindSubscribe    Kind = 0x10
	KindSubscribed   Kind = 0x11
	KindUnsubscribe  Kind = 0x12
	KindUnsubscribed Kind = 0x13
	KindPositions    Kind = 0x14
	KindRefused      Kind = 0x15
	KindGoodbye      Kind = 0x16
	KindLost         Kind = 0x17
	KindBeat         Kind = 0x18
	KindMissed       Kind = 0x19
	KindAck          Kind = 0x1a
	KindReceived     Kind = 0x1b
	KindDescribe     Kind = 0x1c
	KindDescription  Kind = 0x1d
	KindRights       Kind = 0x1e
	KindDenied       Kind = 0x1f
	KindDropped      Kind = 0x20

	// KindHello names the hello in errors; on the wire it has a magic instead.
	KindHello Kind = 0xff
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case KindPage:
		return "page"
	case KindSubscribe:
		return "subscribe"
	case KindSubscribed:
		return "subscribed"
	case KindUnsubscribe:
		return "unsubscribe"
	case KindUnsubscribed:
		return "unsubscribed"
	case KindPositions:
		return "positions"
	case KindRefused:
		return "refused"
	case KindGoodbye:
		return "goodbye"
	case KindLost:
		return "lost"
	case KindBeat:
		return "beat"
	case KindMissed:
		return "missed"
	case KindAck:
		return "ack"
	case KindReceived:
		return "received"
	case KindDescribe:
		return "describe"
	case KindDescription:
		return "description"
	case KindRights:
		return "rights"
	case KindDenied:
		return "denied"
	case KindDropped:
		return "dropped"
	case KindHello:
		return "hello"
	}
	return fmt.Sprintf("kind 0x%02x", uint8(k))
}

// Message is a control message: one of the pointer types below.
type Message interface {
	Kind() Kind
	validate() error
}

// Subscribe asks for the tags of a set. IDs are chosen by the subscriber, are
// not 0, and unique within a connection; one that is active gets this set
// instead of its old one. The answer is Subscribed, or Refused with the same
// ID, and then nothing has changed.
type Subscribe struct {
	ID uint64 `msgpack:"id"`

	// Set is a part of the binary form of a tags.Set; the whole is the parts
	// of all messages of this ID, put together. Not empty.
	Set []byte `msgpack:"set"`

	// Lane is the lane on which the messages are to come, chosen by the
	// subscriber: subscriptions of one policy share it.
	Lane uint16 `msgpack:"lane,omitempty"`

	// Policy is the text form of the lane's policy; empty means block. It is
	// the same in all messages of a lane.
	Policy string `msgpack:"policy,omitempty"`

	// BacklogBytes is how much page memory the lane may hold at the publisher; 0
	// means as much as the publisher gives. The same in all messages of a lane.
	BacklogBytes uint64 `msgpack:"backlog_bytes,omitempty"`

	// Replay is how many messages of each tag the publisher is to send again, if
	// it still has them, that it published before.
	Replay uint64 `msgpack:"replay,omitempty"`

	// Resume says that this publisher has acknowledged all tags of the set for this
	// subscription on an earlier connection. What it has published since is to be
	// sent, as far as it still has it. Positions of the same ID come before and
	// tell where the subscriber stands, in a group once for each lane; a tag that is
	// not listed stands at 0.
	Resume bool `msgpack:"resume,omitempty"`

	// More says that further parts follow.
	More bool `msgpack:"more,omitempty"`

	// WithNext says, in the last part, that the next Subscribe belongs to the same
	// group: they are made active and acknowledged together, when the one
	// without WithNext has come.
	WithNext bool `msgpack:"with_next,omitempty"`
}

// Subscribed acknowledges a Subscribe. It stands among the pages: later pages
// carry every message of the subscription, earlier ones none.
type Subscribed struct {
	ID uint64 `msgpack:"id"`
}

// Unsubscribe ends a subscription. The answer is Unsubscribed.
type Unsubscribe struct {
	ID uint64 `msgpack:"id"`
}

// Unsubscribed acknowledges an Unsubscribe. Later pages carry no message that
// only this subscription wanted.
type Unsubscribed struct {
	ID uint64 `msgpack:"id"`
}

// Positions comes before the Subscribed of the same ID and tells how many
// messages each tag has seen before the first that is going to come. A tag that
// became active for this subscriber and is not listed has seen none. From a
// subscriber it comes before a Subscribe with Resume.
type Positions struct {
	ID uint64 `msgpack:"id"`

	// List is a list of positions; see AppendPosition. Not empty.
	List []byte `msgpack:"list"`
}

// EndingID is the ID of no subscription. Refused with it says why a publisher ends that
// has failed. A Subscriber that does not know it takes it for the refusal of a subscription
// that it has not asked for, which changes nothing.
const EndingID = math.MaxUint64

// Refused says why the publisher does not do what was asked. With ID 0 the
// connection ends after it. With EndingID it is the reason for the last Goodbye, which
// follows.
type Refused struct {
	ID     uint64 `msgpack:"id,omitempty"`
	Reason string `msgpack:"reason"`
}

// Rights says which tags a subscriber may have of a publisher whose hello is Limited: first
// behind that hello, and again when they change. The subscriber asks for no others, and ends
// what it has of others.
type Rights struct {
	// Set is a part of the binary form of a tags.Set; the whole is the parts of all
	// messages up to the one without More, put together. Not empty.
	Set []byte `msgpack:"set"`

	More bool `msgpack:"more,omitempty"`
}

// MaxDenied is how many ranges, and how many masks, a Denied names.
const MaxDenied = 64

// Denied says which tags a subscriber wants and may not have, for the log of the publisher.
type Denied struct {
	Set []byte `msgpack:"set"` // the binary form of a tags.Set, which may be cut to some of the tags
}

// Goodbye with a List gives the final positions of tags of this subscriber that the
// publisher no longer serves; should it serve one again, its messages are counted on.
// Goodbye with an empty List is the last message of a publisher that ends in order,
// after the final position of every tag of this subscriber that has seen messages. The
// subscriber then says the same and closes: from a subscriber, Goodbye has no List and
// is the last message of one that leaves in order.
type Goodbye struct {
	Lane uint16 `msgpack:"lane,omitempty"` // to which the positions belong
	List []byte `msgpack:"list,omitempty"` // see AppendPosition
}

// Beat is what a side sends that has sent nothing else for the interval of its
// hello: a sign of life. It asks for nothing.
type Beat struct{}

// Ack says that the messages of a tag up to a position have been handled. It
// answers a page that asks for it and speaks of that page's last message.
type Ack struct {
	Tag      uint64 `msgpack:"tag"`
	Position uint64 `msgpack:"position"`

	// Failed says that the one at the position was not: no handler wanted it, or
	// the handler did not return in order.
	Failed bool `msgpack:"failed,omitempty"`
}

// Received says how many messages of a lane the subscriber has received from this
// publisher instance, on all connections. The first on a connection comes after
// the first Subscribed of the lane, and before any page of it is taken; others as
// it pleases, and one before its Goodbye.
type Received struct {
	Lane     uint16 `msgpack:"lane,omitempty"`
	Messages uint64 `msgpack:"messages"`
}

// Kind implements Message.
func (*Subscribe) Kind() Kind { return KindSubscribe }

// Kind implements Message.
func (*Subscribed) Kind() Kind { return KindSubscribed }

// Kind implements Message.
func (*Unsubscribe) Kind() Kind { return KindUnsubscribe }

// Kind implements Message.
func (*Unsubscribed) Kind() Kind { return KindUnsubscribed }

// Kind implements Message.
func (*Positions) Kind() Kind { return KindPositions }

// Kind implements Message.
func (*Refused) Kind() Kind { return KindRefused }

// Kind returns KindRights.
func (*Rights) Kind() Kind { return KindRights }

// Kind returns KindDenied.
func (*Denied) Kind() Kind { return KindDenied }

// Kind implements Message.
func (*Goodbye) Kind() Kind { return KindGoodbye }

// Kind implements Message.
func (*Beat) Kind() Kind { return KindBeat }

// Kind implements Message.
func (*Ack) Kind() Kind { return KindAck }

// Kind implements Message.
func (*Received) Kind() Kind { return KindReceived }

func (m *Subscribe) validate() error {
	return errors.Join(checkID(m.ID), checkFilled("set", m.Set), checkText("policy", m.Policy))
}
func (m *Subscribed) validate() error   { return checkID(m.ID) }
func (m *Unsubscribe) validate() error  { return checkID(m.ID) }
func (m *Unsubscribed) validate() error { return checkID(m.ID) }
func (m *Positions) validate() error    { return errors.Join(checkID(m.ID), checkFilled("list", m.List)) }
func (m *Refused) validate() error      { return checkText("reason", m.Reason) }
func (m *Rights) validate() error       { return checkFilled("set", m.Set) }
func (m *Denied) validate() error       { return checkFilled("set", m.Set) }
func (*Goodbye) validate() error        { return nil }
func (*Beat) validate() error           { return nil }
func (*Received) validate() error       { return nil }

func (m *Ack) validate() error {
	if m.Position == 0 {
		return errors.New("position is 0: the first message has position 1")
	}
	return nil
}

func checkID(id uint64) error {
	if id == 0 {
		return errors.New("id is 0: ids of subscriptions begin at 1")
	}
	return nil
}

func checkFilled(field string, b []byte) error {
	if len(b) == 0 {
		return errors.New(field + " is empty")
	}
	return nil
}
