// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"

	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
)

// A fanout does not know what of the data given to the transport has arrived. A subscriber
// reports from time to time how much it has received, and what it has missed and lost itself.
// Its counts are claims, and one that cannot be is an error. A fanout knows how many messages
// of each tag were published. It takes no count above positions.Max, so that no sum wraps.

// Reached returns an error for positions that are not reached yet.
//
// Errors: what cannot be; those of the list.
func (fan *Fanout) Reached(list []byte) error {
	for at, err := range subscription.PositionsOf(list) {
		if err != nil {
			return err
		}
		if n := fan.Count(at.Tag); at.Count > n {
			return fmt.Errorf("the subscriber has tag %v at %d, of %d that were published", at.Tag, at.Count, n)
		}
	}
	return nil
}

// Missed counts further messages that the subscriber has missed: a count of its own is higher
// than that of this side. In total, no more of a tag can be lost than were published and sent
// again. Loop only.
//
// Errors: what cannot be; those of the list. What stands before it is counted.
func (box *Outbox) Missed(m *subscription.Missed) error {
	n := box.Lane(m.Lane)
	if n == nil {
		return fmt.Errorf("missed messages in lane %d, which has no subscription", m.Lane)
	}
	for missed, err := range subscription.PositionsOf(m.List) {
		if err != nil {
			return err
		}
		published := box.fan.Count(missed.Tag)
		most := published + box.fan.Replayed()
		known := n.Account.Lost(missed.Tag)
		if missed.Count > most-min(most, known) {
			return fmt.Errorf("the subscriber has missed %d messages of tag %v, of which %d were published and %d are known to be lost",
				missed.Count, missed.Tag, published, known)
		}
		n.Account.Add(m.Cause, missed.Tag, missed.Count)
	}
	return nil
}

// Received notes how many messages of a lane the subscriber has received, in all its
// connections. Loop only.
//
// Errors: what cannot be.
func (box *Outbox) Received(m *subscription.Received) error {
	n := box.Lane(m.Lane)
	switch {
	case n == nil:
		return fmt.Errorf("received messages in lane %d, which has no subscription", m.Lane)
	case m.Messages > positions.Max:
		return fmt.Errorf("received %d messages in lane %d, limit %d", m.Messages, m.Lane, uint64(positions.Max))
	}
	box.mu.Lock()
	given := n.givenMessages
	box.mu.Unlock()
	if !n.said.Say(n.Account, m.Messages, given) {
		return fmt.Errorf("received %d messages in lane %d after %d, of %d that were sent since %d",
			m.Messages, n.Number, n.said.All, given, n.said.Before)
	}
	return nil
}

// Dropped notes what the subscriber has received of a lane and lost again. Loop only.
//
//   - most: subscriptions of a lane, in each of which it may have lost a message once.
//   - Errors: what cannot be; those of the list. What stands before it is counted.
func (box *Outbox) Dropped(m *subscription.Dropped, most uint64) error {
	n := box.Lane(m.Lane)
	if n == nil {
		return fmt.Errorf("dropped messages in lane %d, which has no subscription", m.Lane)
	}
	if m.Messages > min(n.said.All, positions.Max/most)*most {
		return fmt.Errorf("dropped %d messages in lane %d, of %d received", m.Messages, m.Lane, n.said.All)
	}
	n.Account.Drop(m.Cause, m.Messages)
	for of, err := range subscription.PositionsOf(m.List) {
		switch {
		case err != nil:
			return err
		case of.Count == 0 || of.Count > m.Messages || box.fan.Count(of.Tag) == 0:
			return fmt.Errorf("dropped %d messages of tag %v, of %d in lane %d", of.Count, of.Tag, m.Messages, m.Lane)
		}
		n.Account.DropTag(m.Cause, of.Tag, of.Count)
	}
	return nil
}

// Acked takes what a receiver says of messages that have a Receipt. An Ack for which no caller
// waits any more changes nothing. Loop only.
//
// Errors: there is no such message.
func (box *Outbox) Acked(m *subscription.Ack) error {
	tag := tags.Tag(m.Tag)
	if n := box.fan.Count(tag); m.Position > n {
		return fmt.Errorf("the receiver acknowledges message %d of tag %v, of %d that were sent", m.Position, tag, n)
	}
	box.settle(tag, m.Position, m.Failed)
	return nil
}
