// SPDX-License-Identifier: Apache-2.0

package workqueue

// Finder finds out whether any value of a list meets a condition. The zero value is ready.
type Finder[V any] struct {
	last           uint64 // id of the value that met it when Any last looked
	looking, again bool   // Look goes on; and then once more
}

// Any looks at once. The value that met the condition the last time is looked at first.
func (f *Finder[V]) Any(list *List[V], meets func(V) bool) bool {
	if list.Has(f.last) && meets(list.order[list.find(f.last)].value) {
		return true
	}
	for _, x := range list.order {
		if !x.gone && meets(x.value) {
			f.last = x.id
			return true
		}
	}
	return false
}

// Look looks in a job, and then calls then. During a look it does nothing, except that
// another one follows if none is found.
//
//   - look: reports whether a value meets the condition, and what it costs to find that out.
func (f *Finder[V]) Look(queue *Queue, list *List[V], look func(V) (meets bool, steps int), then func(found bool)) {
	if f.looking {
		f.again = true
		return
	}
	f.looking, f.again = true, false
	found := false
	each := list.Each(func(v V) (steps int) {
		if !found {
			found, steps = look(v)
		}
		return steps
	})
	queue.Add(func(budget int) (steps int, done bool) {
		if steps, done = each(budget); !done && !found {
			return steps, false
		}
		f.looking = false
		if !found && f.again {
			f.Look(queue, list, look, then)
		}
		then(found)
		return steps, true
	})
}

// Looking reports whether Look has not called then.
func (f *Finder[V]) Looking() bool { return f.looking }
