// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"slices"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
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
	if l.reported(p.fan.Reached(m.List)) && l.reported(p.groups.Positions(l, m, p.fan.KnownTags())) {
		l.awaitSubscription()
	}
}

// onSubscribe takes a part of a set, and makes the subscriptions of a complete group
// active.
func (p *publisherImpl) onSubscribe(l *link, m *subscription.Subscribe) {
	if l.fault != nil {
		return // it is closing
	}
	l.awaitSubscription()
	refused, err := p.groups.Subscribe(l, m, p.fan.KnownTags())
	if !l.reported(err) {
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

// evictGroup ends a connection whose group was dropped, since all groups take too much.
func (p *publisherImpl) evictGroup(l *link, bytes int) {
	l.end(fmt.Errorf("%w: %d bytes, limit %d", ErrGroupMemory, bytes, p.groups.Bytes))
}

// subscribe begins to make the subscriptions of a group active. Loop only.
func (l *link) subscribe(wishes []fanout.Wish) {
	p := l.pub
	var g *fanout.Group // made when it is known what the peer may have
	s := l.screening(wishes)
	l.tasks.Add(workqueue.Task{Run: func(budget int) (steps int, done bool) {
		if g == nil {
			if steps, done = s.Run(budget); !done {
				return steps, false
			}
			wishes, g = s.Pass, l.group(s.Pass)
		}
		more := 0
		more, done = g.Run(budget - steps)
		if steps += more; !done {
			return steps, false
		}
		if at, fault := g.Failed(); fault != nil {
			l.expel(at, fault)
			return steps, true
		}
		if g.Ceded() {
			p.ownership.freed()
		}
		p.settle(l)
		l.answered(wishes)
		p.farewell(l)
		return steps, true
	}, Abort: func() {
		if g != nil {
			g.Abort()
		}
	}})
}

// group returns what makes subscriptions active.
func (l *link) group(wishes []fanout.Wish) *fanout.Group {
	p := l.pub
	return l.out.Subscribe(wishes, fanout.Terms{
		Check:    l.check,
		Steps:    p.ownership.checkSteps,
		Account:  func(w *fanout.Wish) *ledger.Lane { return p.account(l, w) },
		HandOver: func(sets []tags.Set) []tags.Set { return p.ownership.handOver(l, sets) },
		Entered:  func() { p.ownership.entered(l) },
		Refusal:  func(w *fanout.Wish) subscription.Message { return refusal(w.Request.ID, w.Err) },
	})
}

// check returns why a subscription cannot become active, or why the connection has to
// end. fan.Mu is held.
func (l *link) check(w *fanout.Wish) (refusal, fault error) {
	p := l.pub
	if err := p.ownership.check(l, w); err != nil {
		if errors.As(err, new(*DuplicateError)) {
			return err, err
		}
		return err, nil
	}
	policy, err := p.policyOf(l, w.Request)
	if err == nil {
		err = p.checkRoom(l, w.Request)
	}
	w.Policy = policy.inside()
	if errors.Is(err, ErrProtocol) {
		return err, err
	}
	return err, nil
}

// expel ends the connection for a fault of its peer.
//
//   - at: the subscription that was looked at.
func (l *link) expel(at *fanout.Wish, fault error) {
	if duplicate := (*DuplicateError)(nil); errors.As(fault, &duplicate) {
		l.pub.ownership.expel(l, at.Request.ID, duplicate)
		return
	}
	if !errors.Is(fault, ErrProtocol) {
		fault = fmt.Errorf("%w: %w", ErrProtocol, fault)
	}
	l.fail(fault)
}

// policyOf returns the policy that a subscription asks for.
//
// Errors: ErrProtocol, wrapped, for a request that no subscriber may make;
// ErrPolicyRefused, wrapped, for a policy that this publisher does not allow.
func (p *publisherImpl) policyOf(l *link, m *subscription.Subscribe) (Policy, error) {
	var policy Policy
	var err error
	if m.Policy != "" {
		policy, err = ParsePolicy(m.Policy)
	}
	if err == nil {
		err = l.out.MayTake(m, policy.inside(), maxLanes)
	}
	switch {
	case err != nil:
		return policy, fmt.Errorf("%w: %w", ErrProtocol, err)
	case len(p.cfg.Policies) > 0 && !slices.Contains(p.cfg.Policies, policy.Kind):
		return policy, fmt.Errorf("%w: %v; it allows %v", ErrPolicyRefused, policy.Kind, p.cfg.Policies)
	}
	return policy, nil
}

// checkRoom refuses a subscription if its subscriber could then hold more than it may.
// Loop only.
//
// Errors: ErrSubscriberBytes, wrapped.
func (p *publisherImpl) checkRoom(l *link, m *subscription.Subscribe) error {
	if l.out.Lane(m.Lane) != nil {
		return nil
	}
	if bytes := l.out.LaneBytes() + p.fan.LaneBytes(m.BacklogBytes); bytes > int64(p.cfg.SubscriberBytes) {
		return fmt.Errorf("%w: %d bytes, limit %d: lower BacklogBytes, or use fewer policies", ErrSubscriberBytes, bytes, p.cfg.SubscriberBytes)
	}
	return nil
}

// account opens the account of a new lane. Loop only, and fan.Mu is held.
func (p *publisherImpl) account(l *link, w *fanout.Wish) *ledger.Lane {
	p.heart.Quicken(p.limits.Of(w.Policy))
	return p.accounts.Open(l.peer.Instance, l, member{l.peer, snapshot.Last{Past: p.pastOf(l)}}, w.Request.Lane, w.Policy, maxLanes, func(number uint16) bool { return l.out.Lane(number) != nil })
}

// unsubscribe ends a subscription and acknowledges that. It acknowledges an unknown one
// too, since the peer must not wait for ever. Loop only.
func (l *link) unsubscribe(id uint64) {
	n, set, leave := l.out.Unsubscribe(id)
	if n == nil {
		l.out.Send(nil, &subscription.Unsubscribed{ID: id})
		return
	}
	l.tasks.Add(workqueue.Task{Run: func(budget int) (steps int, done bool) {
		if steps, done = leave(budget); done {
			l.out.Send(n, &subscription.Unsubscribed{ID: id})
			if l.out.Subscriptions() > 0 { // otherwise it goes, and its end frees the tags
				l.pub.ownership.freed()
			}
			l.event(Event{Kind: Unsubscribed, Peer: l.peer, Tags: set})
		}
		return steps, done
	}, Abort: l.out.AbortUnsubscribe})
}

// unroute takes a subscriber out of all routes, for good, and then calls f. Loop only.
func (l *link) unroute(f func()) {
	if l.exit == nil {
		l.exit = fanout.NewExit(&l.out, &l.tasks)
	}
	l.exit.Leave(f)
}

// sayGoodbye sends a subscriber the final positions when the publisher drains, and
// before them why it has failed, if it has. Loop only.
func (l *link) sayGoodbye() {
	if why := l.pub.failure; why != nil {
		l.out.Send(nil, refusal(subscription.EndingID, why))
	}
	l.tasks.Add(workqueue.Task{Run: l.out.Farewell(), Abort: func() {}})
}
