// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"

	"tagbus/subscription"
	"tagbus/tags"
)

// Wanted returns what the lanes want, a set for each. Loop only, with Fanout.Mu held.
func (box *Outbox) Wanted() []tags.Set {
	sets := make([]tags.Set, len(box.Lanes))
	for i, n := range box.Lanes {
		sets[i] = box.fan.table.Set(n.id)
	}
	return sets
}

// Common returns the tags of a set of which messages go to a lane, the first one of some: those that it
// wants, or that a subscription has given up and that are not off the routes yet. It may return the
// whole set, if that is too complex to find out. Fanout.Mu is held.
func (box *Outbox) Common(set tags.Set) (both tags.Set, some bool) {
	for _, n := range box.Lanes {
		if n.Overlaps(set) {
			return common(set, n.Set()), true
		}
		for _, gone := range n.ceded {
			if gone.Intersects(set) {
				return common(set, gone), true
			}
		}
	}
	return both, false
}

// common returns the tags that are in both sets, or one set, if that is too complex to find out.
func common(set, other tags.Set) tags.Set {
	rest, err := set.Without(other)
	if err != nil {
		return set
	}
	both, _ := set.Without(rest) // no more complex than the difference above, which was possible
	return both
}

// cede notes that a subscription has given up a set, of whose tags routes lead to the lane. Fanout.Mu is
// held.
func (n *Lane) cede(id uint64, set tags.Set) {
	if n.ceded == nil {
		n.ceded = make(map[uint64]tags.Set)
	}
	n.ceded[id] = n.ceded[id].Union(set)
}

// MayTake returns why a subscriber may not ask for a subscription, or nil. Loop only.
//
//   - policy: of m.
//   - most: lanes that it may have.
func (box *Outbox) MayTake(m *subscription.Subscribe, policy subscription.Policy, most int) error {
	known := box.Lane(m.Lane)
	switch of := box.LaneOf(m.ID); {
	case of != nil && of != known:
		return fmt.Errorf("subscription %d moved to lane %d", m.ID, m.Lane)
	case known != nil && known.Policy != policy:
		return fmt.Errorf("lane %d has the policy %v, and then %v", m.Lane, known.Policy, policy)
	case known == nil && len(box.Lanes) >= most:
		return fmt.Errorf("more than %d lanes", most)
	}
	return nil
}
