// SPDX-License-Identifier: Apache-2.0

package fanout

import "tagbus/tags"

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
