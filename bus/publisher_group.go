// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/group"
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
	if !l.reported(p.fan.Reached(m.List)) {
		return
	}
	if err := brokenGroup(p.groups.Positions(l, m, p.fan.KnownTags())); err != nil {
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
