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
