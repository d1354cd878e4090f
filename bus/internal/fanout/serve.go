// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"

	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// Served returns the tags that may be published, and how many other tags with
// messages are remembered, which were removed.
func (fan *Fanout) Served() (served tags.Set, removed int) {
	fan.Mu.Lock()
	defer fan.Mu.Unlock()
	return fan.served, fan.removed
}

// Serve begins to serve the tags of a set. Lanes that want them get their messages. Those
// that were removed are served again when Serve returns.
//
// Threads: any; it takes Mu for a slice at a time. Serve and Retire are not called at the
// same time.
func (fan *Fanout) Serve(set tags.Set) {
	fan.Mu.Lock()
	fan.served = fan.served.Union(set)
	fan.Mu.Unlock()
	fan.eachKnown(set, true, (*stream).sealPage, func(e *tagmap.Entry[tagState]) {
		e.Value.removed = false
		fan.removed--
	}, func() {})
}

// Retire makes publishing refuse the tags of set, and sends the lanes that want them
// their final positions. The cache keeps nothing of them.
//
//   - left: the set of the remaining tags.
//   - Errors: ErrStopped; then nothing has changed.
//   - Threads: as Serve.
func (fan *Fanout) Retire(left, set tags.Set) error {
	fan.Mu.Lock()
	if fan.stopped {
		fan.Mu.Unlock()
		return ErrStopped
	}
	fan.served = left
	fan.Mu.Unlock()
	finals := make(map[*Lane][]subscription.Position)
	fan.eachKnown(set, false, (*stream).sealAll, func(e *tagmap.Entry[tagState]) {
		e.Value.removed = true
		fan.removed++
		if fan.cache != nil {
			fan.cache.Empty(e.Value.line)
		}
		if e.Value.count == 0 {
			return
		}
		for _, n := range e.Value.route.Load().lanes {
			finals[n] = append(finals[n], subscription.Position{Tag: e.Tag, Count: e.Value.count})
		}
	}, func() {
		for n, list := range finals {
			slices.SortFunc(list, positions.Compare)
			n.finals(list)
		}
		clear(finals)
	})
	fan.waiting.wake() // goroutines that wait for room for them
	return nil
}

// sealAll ends everything under construction, and reports left-out messages, which would
// otherwise only be missing. mu is held.
func (s *stream) sealAll() {
	s.seal()
	if s.solo != nil {
		s.solo.tell(len(s.solo.untold))
	}
}

// eachKnown calls f for the known tags of set, removed or not, while their streams are
// locked. It locks some of them at a time, so that other goroutines and the loop work
// in between. sealed is called for each stream first, and after when they are unlocked,
// with Mu held.
func (fan *Fanout) eachKnown(set tags.Set, removed bool, sealed func(*stream), f func(*tagmap.Entry[tagState]), after func()) {
	fan.Mu.Lock()
	w := fan.newWalk(set)
	fan.Mu.Unlock()
	for done := false; !done; {
		fan.Mu.Lock()
		for steps, n := 0, 0; steps < workqueue.SliceSteps && !done; steps += n {
			n, done = fan.eachLocked(&w, workqueue.SliceSteps-steps, func(e *tagmap.Entry[tagState]) bool {
				return e.Value.removed == removed && set.Contains(e.Tag) // removed is written with Mu held
			}, sealed, f)
		}
		after()
		fan.Mu.Unlock()
	}
}

// eachLocked calls f for the next tags of a walk that concerns selects, while their
// streams are locked. Mu is held.
func (fan *Fanout) eachLocked(w *walk, budget int, concerns func(*tagmap.Entry[tagState]) bool, sealed func(*stream), f func(*tagmap.Entry[tagState])) (steps int, done bool) {
	var entries []*tagmap.Entry[tagState]
	fan.locking++
	looks, done := w.visit(budget, func(e *tagmap.Entry[tagState]) bool {
		steps++
		if concerns(e) {
			r := e.Value.route.Load()
			steps += shiftSteps + len(r.lanes)
			entries = append(entries, e)
			fan.lockLater(r)
		}
		return len(entries) < maxShifts && steps < budget
	})
	fan.lockAll(sealed)
	for _, e := range entries {
		f(e)
	}
	fan.unlockStreams()
	return max(steps, looks, 1), done
}

// containsTag reports whether a tag is in one of some sets.
func containsTag(sets []tags.Set, tag tags.Tag) bool {
	return slices.ContainsFunc(sets, func(set tags.Set) bool { return set.Contains(tag) })
}

// Published reports whether a tag of a set was published. It takes Mu.
func (fan *Fanout) Published(set tags.Set) (used bool) {
	fan.Mu.Lock()
	defer fan.Mu.Unlock()
	fan.tags.All(func(e *tagmap.Entry[tagState]) { used = used || set.Contains(e.Tag) })
	return used
}

// Overlaps reports whether the subscriptions of a lane have a tag of a set. Fanout.Mu is
// held.
func (n *Lane) Overlaps(set tags.Set) bool { return n.out.fan.table.Overlaps(n.id, set) }

// Set returns the tags of the subscriptions of a lane. Fanout.Mu is held.
func (n *Lane) Set() tags.Set { return n.out.fan.table.Set(n.id) }
