// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"net/netip"

	"tagbus/bus/internal/ledger"
	"tagbus/internal/sanitize"
	"tagbus/subscription"
	"tagbus/tags"
)

// EventKind says what happened.
type EventKind int

const (
	// Connected means that a connection to Peer is established and both sides have said
	// hello.
	Connected EventKind = iota + 1

	// Subscribed means that a subscription to Tags is acknowledged. At a publisher: for
	// Peer. At a subscriber: by Peer, which has these of the tags of the subscription now.
	// Where many patterns make it too complex to find out which, Tags has all that were asked
	// for: never of sets without patterns.
	Subscribed

	// Unsubscribed means that a subscription to Tags has ended in order.
	Unsubscribed

	// Lost means that the connection to Peer has ended; Err says why. At a publisher it
	// is nil if the subscriber said goodbye and has confirmed all that was sent to it,
	// and an *UnconfirmedError if there are messages that it has not confirmed. A
	// subscriber connects again by itself while the publisher is in the directory.
	Lost

	// Refused means that a connection or subscription was refused; Err says why. At a
	// receiver it is ErrOwned if the sender has another receiver of some of the tags.
	Refused

	// Gap means that Count messages of Tag from Peer, the same publisher as before,
	// were not received; Err says why. Waiting gaps of a tag with the same reason are
	// merged into one event. With ErrQueueFull the messages were received, and a
	// subscription's own queue lost them.
	Gap

	// Vanished means that the publisher Peer of Tags is gone for good without goodbye,
	// or with one before the account of a lost connection was settled. The number of
	// its last messages that were not received is unknown. Err is a *PeerFailedError if it
	// has said that it fails.
	Vanished

	// Goodbye means that the publisher Peer has ended in order, and everything that it
	// published for this subscriber has been received or reported. Err is nil, or a
	// *PeerFailedError if the publisher has ended because something failed there: it may
	// have had more to publish.
	Goodbye

	// Problem means that something does not work but the bus goes on; Err says what and
	// what to do.
	Problem

	// Stalled means that the subscriber Peer has taken nothing for a HeartbeatTimeout,
	// and that the publisher has no room because of that; Err is a *StallError. It
	// comes once. Resumed or Lost follows.
	Stalled

	// Resumed means that the subscriber Peer takes messages again after Stalled.
	Resumed

	// Resubscribed means that Peer has acknowledged a subscription to Tags again, as in
	// Subscribed, after the connection was lost. Gap events have reported what was missed in between.
	Resubscribed

	// Duplicate means that two peers have Tags. At a subscriber: the publishers Peer
	// and Other both serve them; Peer announced them later. The event comes once for
	// two publishers, and again only when they have more tags in common.
	// SubscriptionConfig.Duplicates says what happens then. At a sender: the receivers
	// Peer and Other both own them, and Other gets the messages; Err is a
	// *DuplicateError.
	Duplicate

	// Announced means that a publisher or a receiver which listens on all addresses of its
	// host is announced at Addresses now, because those of the host have changed. Connections
	// stay as long as they work.
	Announced
)

var eventNames = [...]string{
	Connected: "connected", Subscribed: "subscribed", Unsubscribed: "unsubscribed", Lost: "lost", Refused: "refused",
	Gap: "gap", Vanished: "vanished", Goodbye: "goodbye", Problem: "problem",
	Stalled: "stalled", Resumed: "resumed",
	Resubscribed: "resubscribed", Duplicate: "duplicate",
	Announced: "announced",
}

// String returns the kind's name.
func (k EventKind) String() string {
	if k > 0 && int(k) < len(eventNames) {
		return eventNames[k]
	}
	return fmt.Sprintf("event %d", int(k))
}

// Event reports a change in the life of a publisher or subscriber. Fields that the kind
// does not name are zero. Events come in order, and a few at a time, so that other work
// of the loop need not wait for many. The number of waiting events that a peer has
// caused is bounded: its connection is not read until they are reported. If events are
// dropped for want of room, a Problem event with ErrEventsDropped says how many.
type Event struct {
	Kind  EventKind
	Peer  *Peer    // nil when no peer is concerned
	Other *Peer    // Duplicate: the one that had the tags earlier
	Tags  tags.Set // Subscribed, Resubscribed, Unsubscribed, Vanished, Duplicate
	Tag   tags.Tag // Gap
	Count uint64   // Gap
	Err   error

	Addresses []netip.AddrPort // Announced
}

// Name returns the name of the event's kind, but "left" for a Lost of a connection that
// has ended in order.
func (e Event) Name() string {
	if u := (*UnconfirmedError)(nil); e.Kind == Lost && (e.Err == nil || errors.As(e.Err, &u) && u.Err == nil) {
		return "left"
	}
	return e.Kind.String()
}

// String returns the event as a line for people.
func (e Event) String() string {
	s := e.Name()
	if e.Peer != nil {
		s += " " + e.Peer.String()
	}
	if e.Other != nil {
		s += " and " + e.Other.String()
	}
	if !e.Tags.IsEmpty() {
		s += " tags " + shortSet(e.Tags)
	}
	if e.Kind == Gap {
		s += fmt.Sprintf(" %d messages of tag %v", e.Count, e.Tag)
	}
	if len(e.Addresses) > 0 {
		s += " as " + sanitize.Some(e.Addresses)
	}
	if e.Kind == Connected && e.Peer != nil && e.Peer.Backend != "" {
		s += " over " + sanitize.Text(e.Peer.Backend)
	}
	if e.Err != nil {
		s += ": " + sanitize.Error(e.Err)
	}
	return s
}

// shortSet keeps a line about a large set readable.
func shortSet(s tags.Set) string {
	const most = 120
	text := s.String()
	if len(text) > most {
		text = fmt.Sprintf("%s... (%d parts)", text[:most], s.Parts())
	}
	return text
}

// shortInstance is how much of an instance a line for people has.
const shortInstance = 8

// ShortInstance returns the end of an instance: enough for people to tell it from others.
// The beginning of a nuid is that of all instances of a process; its end counts them, from
// a random number on.
func ShortInstance(instance string) string { return instance[max(0, len(instance)-shortInstance):] }

func peerText(p *Peer) string {
	name := sanitize.Text(p.Name)
	if name == "" {
		name = sanitize.Text(ShortInstance(p.Instance))
	}
	if p.Host != "" {
		name += "@" + sanitize.Text(p.Host)
	}
	if p.PID != 0 {
		name += fmt.Sprintf(":%d", p.PID)
	}
	if p.Addr.IsValid() {
		if name != "" {
			name += " "
		}
		name += "(" + sanitize.Text(p.Addr.String()) + ")"
	}
	return name
}

// Losses counts messages that a subscriber did not get, by reason. The errors named
// here are the causes of their Gap events.
type Losses struct {
	Full       uint64 // the subscription held all that it may: ErrTooSlow
	Memory     uint64 // the lossy subscriptions together did: ErrPublisherMemory
	Connection uint64 // under way or published when there was no connection: ErrConnectionLost
	Ended      uint64 // showed only at the publisher's end: ErrPublisherEnded; a publisher does not count it

	// LeftOut is what the policies Latest and Sample have left out on purpose:
	// ErrLeftOut.
	LeftOut uint64
}

// Lost returns the number of messages that are not left out on purpose.
func (c Losses) Lost() uint64 { return c.Full + c.Memory + c.Connection + c.Ended }

// lossesOf returns counts as users see them.
func lossesOf(c *ledger.Counts) Losses {
	return Losses{
		Full: c[subscription.CauseFull], Memory: c[subscription.CauseMemory],
		Connection: c[subscription.CauseConnection], Ended: c[ledger.Ended],
		LeftOut: c[subscription.CauseLeftOut],
	}
}

// Dropped counts messages that a subscriber has received and lost again. A message that is
// lost in several subscriptions counts for each.
type Dropped struct {
	Overflowed uint64 // the queue of a subscription was full: Subscription.Overflowed
	Panicked   uint64 // the handler panicked
}

// droppedOf returns counts as users see them.
func droppedOf(c *ledger.Counts) Dropped {
	return Dropped{Overflowed: c[ledger.Queue], Panicked: c[ledger.Panic]}
}

// gapCauses are the causes of Gap events.
var gapCauses = [ledger.Queue + 1]error{
	ledger.Ended:                 ErrPublisherEnded,
	subscription.CauseFull:       ErrTooSlow,
	subscription.CauseMemory:     ErrPublisherMemory,
	subscription.CauseLeftOut:    ErrLeftOut,
	subscription.CauseConnection: ErrConnectionLost,
	ledger.Queue:                 ErrQueueFull,
}
