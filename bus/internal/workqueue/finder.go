// SPDX-License-Identifier: Apache-2.0

package workqueue

// Finder finds out whether any value of a list meets a condition.
type Finder[V any] struct {
	queue *Queue
	list  *List[V]
	meets func(V) bool
	cost  func(V) (steps int)

	last           uint64 // id of the value that met it when Any last looked
	looking, again bool   // Look goes on; and then once more
}

// NewFinder returns a Finder.
//
//   - meets: the condition. It changes no list.
//   - cost: of a call of meets.
func NewFinder[V any](queue *Queue, list *List[V], meets func(V) bool, cost func(V) (steps int)) Finder[V] {
	return Finder[V]{queue: queue, list: list, meets: meets, cost: cost}
}

// Any looks at once. The value that met the condition the last time is looked at first.
func (f *Finder[V]) Any() bool {
	if f.list.Has(f.last) && f.meets(f.list.order[f.list.find(f.last)].value) {
		return true
	}
	for _, x := range f.list.order {
		if !x.gone && f.meets(x.value) {
			f.last = x.id
			return true
		}
	}
	return false
}

// Look looks in a job, and then calls then. During a look it does nothing, except that
// another one follows if none is found.
func (f *Finder[V]) Look(then func(found bool)) {
	if f.looking {
		f.again = true
		return
	}
	f.looking, f.again = true, false
	found := false
	look := f.list.Each(func(v V) (steps int) {
		found = found || f.meets(v)
		return f.cost(v)
	})
	f.queue.Add(func(budget int) (steps int, done bool) {
		if steps, done = look(budget); !done && !found {
			return steps, false
		}
		f.looking = false
		if !found && f.again {
			f.Look(then)
		}
		then(found)
		return steps, true
	})
}

// Looking reports whether Look has not called then.
func (f *Finder[V]) Looking() bool { return f.looking }
