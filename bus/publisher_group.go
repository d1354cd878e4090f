// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/positions"
	"tagbus/subscription"
)

// maxGroupsBytes bounds the incomplete groups of all connections together. A hundred
// subscribers that resume 100,000 tags each at the same time need as much.
const maxGroupsBytes = 256 << 20

// onPositions takes the positions of a subscriber that is about to resume a
// subscription.
func (p *publisherImpl) onPositions(l *link, m *subscription.Positions) {
	if l.fault != nil {
		return // it is closing
	}
	err := p.checkStanding(m.List)
	if err == nil {
		err = brokenGroup(p.groups.Positions(l, m, p.fan.KnownTags()))
	}
	if err != nil {
		l.fail(err)
		return
	}
	l.awaitSubscription()
}

// onSubscribe takes a part of a set, and makes the subscriptions of a complete group
// active.
func (p *publisherImpl) onSubscribe(l *link, m *subscription.Subscribe) {
	if l.fault != nil {
		return // it is closing
	}
	l.awaitSubscription()
	refused, err := p.groups.Subscribe(l, m, p.fan.KnownTags())
	if err != nil {
		l.fail(brokenGroup(err))
		return
	}
	if refused != nil {
		l.out.Send(nil, refusal(m.ID, refused))
		l.event(Event{Kind: Refused, Peer: l.peer, Err: refused})
	}
	if l.fault != nil || m.More || m.WithNext {
		return
	}
	complete := p.groups.Take(l)
	l.deadline.Met()
	l.asked = true
	if len(complete) == 0 {
		p.settle(l)
		p.farewell(l)
		return
	}
	wishes := make([]fanout.Wish, len(complete))
	for i, s := range complete {
		wishes[i] = fanout.Wish{Request: s.Request, Set: s.Set, Standing: s.Standing}
	}
	l.subscribe(wishes)
}

// brokenGroup returns the error for what a group has broken of the protocol, or nil.
func brokenGroup(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, group.ErrEmptySet) {
		err = ErrEmptySet
	}
	return fmt.Errorf("%w: %w", ErrProtocol, err)
}

// evictGroup ends a connection whose group was dropped, since all groups take too much.
func (p *publisherImpl) evictGroup(l *link, bytes int) {
	l.end(fmt.Errorf("%w: %d bytes, limit %d", ErrGroupMemory, bytes, p.groups.Bytes))
}

// checkStanding returns an error for positions of a subscriber that are not reached
// yet.
//
// Errors: ErrProtocol, wrapped.
func (p *publisherImpl) checkStanding(list []byte) error {
	for at, err := range subscription.PositionsOf(list) {
		if err != nil {
			return errors.Join(ErrProtocol, err)
		}
		if n := p.fan.Count(at.Tag); at.Count > n {
			return protocolError("the subscriber has tag %v at %d, of %d that were published", at.Tag, at.Count, n)
		}
	}
	return nil
}

// onDropped notes what a subscriber has received of a lane and lost again. Loop only.
func (p *publisherImpl) onDropped(l *link, m *subscription.Dropped) {
	n := l.out.Lane(m.Lane)
	if n == nil {
		l.fail(protocolError("dropped messages in lane %d, which has no subscription", m.Lane))
		return
	}
	// Each message may be lost once in each subscription of the lane.
	if most := min(n.Received(), positions.Max/group.Max) * group.Max; m.Messages > most {
		l.fail(protocolError("dropped %d messages in lane %d, of %d received", m.Messages, m.Lane, n.Received()))
		return
	}
	n.Account.Drop(m.Cause, m.Messages)
	for of, err := range subscription.PositionsOf(m.List) {
		switch {
		case err != nil:
			l.fail(errors.Join(ErrProtocol, err))
			return
		case of.Count == 0 || of.Count > m.Messages || p.fan.Count(of.Tag) == 0:
			l.fail(protocolError("dropped %d messages of tag %v, of %d in lane %d", of.Count, of.Tag, m.Messages, m.Lane))
			return
		}
		n.Account.DropTag(m.Cause, of.Tag, of.Count)
	}
}
