package bus

import (
	"errors"
	"fmt"
	"slices"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/ledger"
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
	known := l.out.Lane(m.Lane)
	switch {
	case err != nil:
		return policy, errors.Join(ErrProtocol, err)
	case l.out.LaneOf(m.ID) != nil && l.out.LaneOf(m.ID) != known:
		return policy, fmt.Errorf("%w: subscription %d moved to lane %d", ErrProtocol, m.ID, m.Lane)
	case known != nil && known.Policy != policy:
		return policy, fmt.Errorf("%w: lane %d has the policy %v, and then %v", ErrProtocol, m.Lane, known.Policy, policy)
	case known == nil && len(l.out.Lanes) >= maxLanes:
		return policy, fmt.Errorf("%w: more than %d lanes", ErrProtocol, maxLanes)
	case len(p.cfg.Policies) > 0 && !slices.Contains(p.cfg.Policies, policy.Kind):
		return policy, fmt.Errorf("%w: %v; it allows %v", ErrPolicyRefused, policy.Kind, p.cfg.Policies)
	}
	return policy, nil
}

// checkRoom refuses a subscription if its subscriber could then hold more than it may.
// Loop only.
//
// Errors: ErrSubscriberBytes, wrapped.
func (p *Publisher) checkRoom(l *link, m *subscription.Subscribe) error {
	if l.out.Lane(m.Lane) != nil {
		return nil
	}
	if bytes := l.out.LaneBytes() + p.fan.LaneBytes(m.BacklogBytes); bytes > int64(p.cfg.SubscriberBytes) {
		return fmt.Errorf("%w: %d bytes, limit %d: lower BacklogBytes, or use fewer policies", ErrSubscriberBytes, bytes, p.cfg.SubscriberBytes)
	}
	return nil
}

// account opens the account of a new lane. Loop only, and fan.Mu is held.
func (p *Publisher) account(l *link, w *fanout.Wish) *ledger.Lane {
	p.heart.Quicken(p.maxStall(w.Policy))
	return p.accounts.Open(l.peer.Instance, l, l.peer, w.Request.Lane, w.Policy, maxLanes, func(number uint16) bool { return l.out.Lane(number) != nil })
}
