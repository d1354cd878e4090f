// SPDX-License-Identifier: Apache-2.0

package tagmap

import "tagbus/tags"

// Pruned is a Map that forgets the entries which are not needed any more, when there may
// be many. It has no readers beside its writer.
type Pruned[V any] struct {
	Map[V]
	kept    int  // entries that there were when it was last pruned
	pruning bool // the job of Prune is not done
}

// MinPrune is the number of entries below which a map forgets none.
const MinPrune = 1024

// Prune returns a job, as package workqueue does them, that removes the entries which are
// not needed. It returns nil if there cannot be many, or while the last job is not done.
//
//   - cost: steps that a call of needed takes.
func (m *Pruned[V]) Prune(cost func() int, needed func(tags.Tag) bool) func(budget int) (steps int, done bool) {
	if m.pruning || m.Len() <= MinPrune+2*m.kept {
		return nil
	}
	m.pruning = true
	place, swept := uint64(0), false
	return func(budget int) (steps int, done bool) {
		each, before := 1+cost(), m.Cost()
		if !swept {
			place, swept = m.sweep(place, max(1, budget/each), func(e *Entry[V]) bool { return needed(e.Tag) })
			steps = each * (m.Cost() - before)
			if !swept {
				return steps, false
			}
			m.kept = m.Len()
			m.shrink()
			before = m.Cost()
		}
		done = m.Move(max(1, budget-steps))
		m.pruning = !done
		return steps + m.Cost() - before, done
	}
}
