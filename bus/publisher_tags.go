package bus

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/chores"
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/tagmap"
	"tagbus/subscription"
	"tagbus/tags"
)

// Tags returns the tags that the publisher serves now.
func (p *Publisher) Tags() tags.Set {
	p.fan.mu.Lock()
	defer p.fan.mu.Unlock()
	return p.fan.served
}

// AddTags begins to serve the tags of a set; it may serve some already. A subscriber
// with an acknowledged subscription to the tags gets their messages from the first one
// on. Others find the tags in the directory and subscribe, which WaitSubscribers waits
// for. A tag that was served before and then removed continues at its old position.
//
//   - Errors: ErrTooManyRemoved, ErrEntryTooLarge, the directory's, and ErrClosed:
//     nothing has been added.
//   - Threads: any. Blocks: for the directory's storage.
func (p *Publisher) AddTags(set tags.Set) error {
	p.announcing.Lock()
	defer p.announcing.Unlock()
	p.fan.mu.Lock()
	known, served := p.fan.removed, p.fan.served // what is announced may be more: see RemoveTags
	p.fan.mu.Unlock()
	if known >= maxRemovedTags {
		return fmt.Errorf("%w: %d, limit %d", ErrTooManyRemoved, known, maxRemovedTags)
	}
	if err := checkEntry(served.Union(set)); err != nil {
		return fmt.Errorf("bus: add tags %s: %w", shortSet(set), err)
	}
	if err := p.announce(served.Union(set), time.Now()); err != nil {
		if !errors.Is(err, ErrClosed) {
			err = errors.Join(err, p.announce(served, p.announced.Since)) // it must not show it later by itself
		}
		return err
	}
	p.fan.mu.Lock()
	p.fan.served = p.fan.served.Union(set)
	p.fan.mu.Unlock()
	p.fan.eachKnown(set, true, (*stream).sealPage, func(e *tagmap.Entry[tagState]) {
		e.Value.removed = false
		p.fan.removed--
	}, func() {})
	return nil
}

// RemoveTags stops serving the tags of a set. When it returns, Publish refuses them
// with ErrUnknownTag. Messages published before are still sent. Every subscriber gets
// the final positions of its tags in the set, so that it knows whether it has
// everything. The cache keeps nothing of these tags. The subscriptions stay: if AddTags
// brings a tag back, its messages go on.
//
//   - Errors: tags.ErrTooComplex or ErrEntryTooLarge, wrapped: nothing is removed.
//     Those of the directory, which may still name the tags. ErrClosed.
//   - Threads: any. Blocks: for the directory's storage.
func (p *Publisher) RemoveTags(set tags.Set) error {
	p.announcing.Lock()
	defer p.announcing.Unlock()
	left, err := p.Tags().Without(set)
	if err == nil {
		err = checkEntry(left)
	}
	if err != nil {
		return fmt.Errorf("bus: remove tags %s: %w", shortSet(set), err)
	}
	if err := p.retire(left, set); err != nil {
		return err
	}
	p.fan.waiting.wake() // goroutines that wait for room for them
	return p.announce(left, p.announced.Since)
}

// announce changes the directory entry. announcing is held.
//
// Errors: ErrClosed, or the directory's.
func (p *Publisher) announce(set tags.Set, since time.Time) error {
	p.fan.mu.Lock()
	open := p.state == publisherOpen
	p.fan.mu.Unlock()
	if !open {
		return ErrClosed
	}
	entry := p.announced
	entry.Tags, entry.Since = set, since
	err := p.registered.Update(entry)
	if errors.Is(err, directory.ErrWithdrawn) {
		return ErrClosed // meanwhile
	}
	if err == nil {
		p.announced = entry
	}
	return err
}

// retire makes Publish refuse the tags of set, and sends the subscribers their final
// positions. left is the set of the remaining tags.
func (p *Publisher) retire(left, set tags.Set) error {
	p.fan.mu.Lock()
	if p.state != publisherOpen {
		p.fan.mu.Unlock()
		return ErrClosed
	}
	p.fan.served = left
	p.fan.mu.Unlock()
	finals := make(map[*lane][]subscription.Position)
	p.fan.eachKnown(set, false, (*stream).sealAll, func(e *tagmap.Entry[tagState]) {
		e.Value.removed = true
		p.fan.removed++
		if p.fan.cache != nil {
			p.fan.cache.Empty(e.Value.line)
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
// in between. sealed is called for each stream first, and after when it is unlocked.
func (fan *fanout) eachKnown(set tags.Set, removed bool, sealed func(*stream), f func(*tagmap.Entry[tagState]), after func()) {
	fan.mu.Lock()
	w := fan.newWalk(set)
	fan.mu.Unlock()
	for done := false; !done; {
		fan.mu.Lock()
		for steps, n := 0, 0; steps < chores.SliceSteps && !done; steps += n {
			n, done = fan.eachLocked(&w, chores.SliceSteps-steps, func(e *tagmap.Entry[tagState]) bool {
				return e.Value.removed == removed && set.Contains(e.Tag) // removed is written under mu only
			}, sealed, f)
		}
		after()
		fan.mu.Unlock()
	}
}

// eachLocked calls f for the next tags of a walk that concerns selects, while their
// streams are locked. mu is held.
func (fan *fanout) eachLocked(w *walk, budget int, concerns func(*tagmap.Entry[tagState]) bool, sealed func(*stream), f func(*tagmap.Entry[tagState])) (steps int, done bool) {
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
