// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"fmt"
)

// Lost says which messages of a lane the subscriber does not get: for each tag
// how many, between those before and those after.
type Lost struct {
	Lane  uint16 `msgpack:"lane,omitempty"`
	Cause Cause  `msgpack:"cause"`
	List  []byte `msgpack:"list"` // see AppendPosition; counts, not positions. Not empty.

	// Total says that the counts are those since the subscriber first asked for
	// the tags, over all its connections. Such messages come before the
	// Positions of an acknowledgement. Any excess over the subscriber's own
	// counts was lost with a connection.
	Total bool `msgpack:"total,omitempty"`
}

// Missed is the subscriber's answer to an acknowledgement: by how much its
// counts of lost messages exceed the totals that the publisher has just told.
// With that both ends count the same.
type Missed struct {
	Lane  uint16 `msgpack:"lane,omitempty"`
	Cause Cause  `msgpack:"cause"`
	List  []byte `msgpack:"list"` // see AppendPosition; counts, not positions. Not empty.
}

// Cause says why a subscriber does not get messages. It is part of the wire
// protocol.
type Cause uint16

// The causes.
const (
	CauseFull       Cause = iota + 1 // the lane held as much as it may
	CauseMemory                      // the lossy lanes of the publisher together did, or its pool was empty
	CauseLeftOut                     // the policy has left them out on purpose
	CauseConnection                  // under way or published when there was no connection

	// Causes is one more than the largest of Lost and Missed.
	Causes
)

// The causes of Dropped.
const (
	CauseOverflow = Causes + iota // the queue of a subscription was full
	CausePanic                    // the handler of a subscription panicked

	// AllCauses is one more than the largest: the size of an array by cause.
	AllCauses
)

// Dropped says how many messages of a lane the subscriber has received and lost again, since
// it first met the publisher. Only a publisher whose hello has TakesDropped for
// MaxMessageBytes takes it. It comes as the subscriber pleases. A message that is lost in
// several subscriptions counts for each.
type Dropped struct {
	Lane     uint16 `msgpack:"lane,omitempty"`
	Cause    Cause  `msgpack:"cause"`
	Messages uint64 `msgpack:"messages"`

	// List has tags of which more has been lost since the last Dropped, with their totals;
	// see AppendPosition. It need not have all of them.
	List []byte `msgpack:"list,omitempty"`
}

// TakesDropped is MaxMessageBytes in the hello of a publisher that takes Dropped. No control
// message is so long. A subscriber that does not know it finds that its messages have room.
const TakesDropped = MaxControlBytes + 1

// Kind implements Message.
func (*Lost) Kind() Kind { return KindLost }

// Kind implements Message.
func (*Missed) Kind() Kind { return KindMissed }

// Kind returns KindDropped.
func (*Dropped) Kind() Kind { return KindDropped }

func (m *Lost) validate() error   { return checkLosses(m.Cause, m.List) }
func (m *Missed) validate() error { return checkLosses(m.Cause, m.List) }

func (m *Dropped) validate() error {
	switch {
	case m.Cause < CauseOverflow || m.Cause >= AllCauses:
		return fmt.Errorf("unknown cause %d", m.Cause)
	case m.Messages == 0:
		return errors.New("messages is 0: what is not lost is not told")
	}
	return nil
}

func checkLosses(c Cause, list []byte) error {
	if c == 0 || c >= Causes {
		return fmt.Errorf("unknown cause %d", c)
	}
	return checkFilled("list", list)
}
