package bus

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tagbus/subscription"
)

// policyOf returns the policy that a subscription asks for.
//
// Errors: ErrProtocol, wrapped, for a request that no subscriber may make;
// ErrPolicyRefused, wrapped, for a policy that this publisher does not allow.
func (p *Publisher) policyOf(l *link, m *subscription.Subscribe) (Policy, error) {
	var policy Policy
	var err error
	if m.Policy != "" {
		policy, err = ParsePolicy(m.Policy)
	}
	known := l.out.lane(m.Lane)
	switch {
	case err != nil:
		return policy, errors.Join(ErrProtocol, err)
	case l.subs[m.ID] != nil && l.subs[m.ID] != known:
		return policy, fmt.Errorf("%w: subscription %d moved to lane %d", ErrProtocol, m.ID, m.Lane)
	case known != nil && known.policy != policy:
		return policy, fmt.Errorf("%w: lane %d has the policy %v, and then %v", ErrProtocol, m.Lane, known.policy, policy)
	case known == nil && len(l.out.lanes) >= maxLanes:
		return policy, fmt.Errorf("%w: more than %d lanes", ErrProtocol, maxLanes)
	case len(p.cfg.Policies) > 0 && !slices.Contains(p.cfg.Policies, policy.Kind):
		return policy, fmt.Errorf("%w: %v; it allows %v", ErrPolicyRefused, policy.Kind, p.cfg.Policies)
	}
	return policy, nil
}

// laneLimit returns how many pages a lane for a subscription may hold.
func (fan *fanout) laneLimit(m *subscription.Subscribe) int64 {
	if m.BacklogBytes == 0 {
		return fan.queuePages
	}
	return max(1, min(fan.queuePages, int64(min(m.BacklogBytes, 1<<40))/int64(fan.pageBytes)))
}

// checkRoom refuses a subscription if its subscriber could then hold more than it may.
// Loop only.
//
// Errors: ErrSubscriberBytes, wrapped.
func (p *Publisher) checkRoom(l *link, m *subscription.Subscribe) error {
	if l.out.lane(m.Lane) != nil {
		return nil
	}
	pages := p.fan.laneLimit(m)
	for _, n := range l.out.lanes {
		pages += n.limit
	}
	if bytes := pages * int64(p.fan.pageBytes); bytes > int64(p.cfg.SubscriberBytes) {
		return fmt.Errorf("%w: %d bytes, limit %d: lower BacklogBytes, or use fewer policies", ErrSubscriberBytes, bytes, p.cfg.SubscriberBytes)
	}
	return nil
}

// lane finds or makes the lane of a subscription. Loop only, and mu is held.
func (p *Publisher) lane(l *link, m *subscription.Subscribe, policy Policy) *lane {
	if n := l.out.lane(m.Lane); n != nil {
		return n
	}
	n := &lane{out: &l.out, number: m.Lane, policy: policy, limit: p.fan.laneLimit(m), mark: newMark()}
	if last := len(p.fan.freeIDs) - 1; last >= 0 {
		n.id, p.fan.freeIDs = p.fan.freeIDs[last], p.fan.freeIDs[:last]
	} else {
		n.id = subscription.LaneID(len(p.fan.lanes))
	}
	p.fan.lanes[n.id] = n
	n.account = p.accounts.Open(l.peer.Instance, l, l.peer, m.Lane, policy, maxLanes, func(number uint16) bool { return l.out.lane(number) != nil })
	n.stuck = time.Now()
	p.heart.Quicken(n.maxStall())
	l.out.mu.Lock()
	l.out.lanes = append(l.out.lanes, n)
	l.out.mu.Unlock()
	return n
}
