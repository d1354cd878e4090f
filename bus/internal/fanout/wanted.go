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

// Common returns the tags of a set that a lane wants, the first one that wants some; or the whole
// set, if that is too complex to find out. Fanout.Mu is held.
func (box *Outbox) Common(set tags.Set) (both tags.Set, some bool) {
	for _, n := range box.Lanes {
		if !n.Overlaps(set) {
			continue
		}
		both = set
		if rest, err := set.Without(n.Set()); err == nil {
			both, _ = set.Without(rest) // no more complex than the difference above, which was possible
		}
		return both, true
	}
	return both, false
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
