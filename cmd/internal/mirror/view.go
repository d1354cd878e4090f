// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"maps"
	"slices"
	"sync"

	"tagbus/bus/directory"
)

// view is what two directories have, as far as the entries of the first are to be in the
// second, and which of them are to be looked at again.
//
// Threads: any.
type view struct {
	id   string        // of the mirror
	wake chan struct{} // has a value while something is to be looked at

	mu     sync.Mutex
	wanted map[string]directory.Entry // of the first directory, by instance: without copies
	others map[string]string          // of the second: instances that others have announced, with the mirror that has, or ""
	look   map[string]struct{}        // instances
}

func newView(id string) *view {
	return &view{
		id: id, wake: make(chan struct{}, 1),
		wanted: make(map[string]directory.Entry), others: make(map[string]string), look: make(map[string]struct{}),
	}
}

// first takes an event of the first directory. Blocks: never.
func (v *view) first(e directory.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case e.Kind == directory.Problem:
		return
	case e.Kind == directory.Gone, e.Entry.Mirror != "": // what a mirror has copied here is not copied on
		delete(v.wanted, e.Entry.Instance)
	default:
		v.wanted[e.Entry.Instance] = e.Entry
	}
	v.again(e.Entry.Instance)
}

// second takes an event of the second directory. Blocks: never.
func (v *view) second(e directory.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case e.Kind == directory.Problem, e.Kind != directory.Gone && e.Entry.Mirror == v.id:
		return
	case e.Kind == directory.Gone:
		if _, other := v.others[e.Entry.Instance]; !other {
			return
		}
		delete(v.others, e.Entry.Instance)
	default:
		v.others[e.Entry.Instance] = e.Entry.Mirror
	}
	v.again(e.Entry.Instance)
}

// again notes that an instance is to be looked at. The lock is held.
func (v *view) again(instance string) {
	v.look[instance] = struct{}{}
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// take returns the instances that are to be looked at, in order, and forgets them.
func (v *view) take() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	instances := slices.Sorted(maps.Keys(v.look))
	clear(v.look)
	return instances
}

// of returns the copy of an instance that is to be in the second directory.
//
//   - wanted: false if the first directory does not have it.
//   - taken: another has announced the instance in the second directory, and keeps it.
//   - held: this mirror has a copy there. If another mirror has one too, which only a
//     folder lets happen when both begin at once, that with the lower id stays.
func (v *view) of(instance string, held bool) (e directory.Entry, wanted, taken bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, wanted = v.wanted[instance]
	other, taken := v.others[instance]
	if taken && held && other > v.id {
		taken = false
	}
	e.Mirror = v.id
	return e, wanted, taken
}
