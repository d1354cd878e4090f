package bus

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/subscription"
	"tagbus/tags"
)

// Tags returns the tags that the publisher serves now.
func (p *Publisher) Tags() tags.Set {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.served
}

// AddTags begins to serve the tags of a set, some of which it may serve
// already. Subscribers whose acknowledged subscriptions have the tags get their
// messages from the first one on; others find them in the directory and
// subscribe, which WaitSubscribers waits for. A tag that was served before
// and then removed goes on at its old position.
//
//   - Errors: ErrTooManyTags, ErrEntryTooLarge, the directory's, and ErrClosed:
//     nothing has been added.
//   - Threads: any. Blocks: for the directory's storage.
func (p *Publisher) AddTags(set tags.Set) error {
	p.announcing.Lock()
	defer p.announcing.Unlock()
	p.mu.Lock()
	known, served := p.removed, p.served // what is announced may be more: see RemoveTags
	p.mu.Unlock()
	if known >= maxRemovedTags {
		return fmt.Errorf("%w: %d, limit %d", ErrTooManyTags, known, maxRemovedTags)
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
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served = p.served.Union(set)
	p.eachRoute(set, true, func(r *route, entries []*tagEntry[tagState]) {
		r.lock()
		for _, e := range entries {
			e.value.removed = false
		}
		r.unlock()
		p.removed -= len(entries)
	})
	return nil
}

// RemoveTags ceases to serve the tags of a set: when it returns, Publish
// refuses them with ErrUnknownTag. What was published before is sent, and every
// subscriber is told the final position of its tags among them, so that it
// knows whether it has all. Nothing of them is kept in the cache. The
// subscriptions stay: should AddTags bring a tag back, its messages go on.
//
//   - Errors: tags.ErrTooComplex or ErrEntryTooLarge, wrapped: nothing has been
//     removed. The directory's, which may still name the tags, and ErrClosed.
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
	p.waiting.wake() // whoever waits for room for them
	return p.announce(left, p.announced.Since)
}

// announce changes the directory entry. announcing is held.
//
// Errors: ErrClosed, or the directory's.
func (p *Publisher) announce(set tags.Set, since time.Time) error {
	p.mu.Lock()
	open := p.state == publisherOpen
	p.mu.Unlock()
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

// retire makes Publish refuse the tags of set, of which left is what remains,
// and tells the subscribers their final positions.
func (p *Publisher) retire(left, set tags.Set) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != publisherOpen {
		return ErrClosed
	}
	p.served = left
	finals := make(map[*lane][]subscription.Position)
	p.eachRoute(set, false, func(r *route, entries []*tagEntry[tagState]) {
		for _, s := range r.streams {
			s.mu.Lock()
			s.seal()
			if s.solo != nil {
				s.solo.tell() // else it would show only as missing
			}
		}
		var positions []subscription.Position
		for _, e := range entries {
			e.value.removed = true
			if p.cache != nil {
				p.cache.empty(e.value.line)
			}
			if e.value.count > 0 {
				positions = append(positions, subscription.Position{Tag: e.tag, Count: e.value.count})
			}
		}
		r.unlock()
		p.removed += len(entries)
		for _, n := range r.lanes {
			finals[n] = append(finals[n], positions...)
		}
	})
	for n, positions := range finals {
		slices.SortFunc(positions, comparePositions)
		n.finals(positions)
	}
	return nil
}

// eachRoute calls f with the known tags of set, removed or not, that have the
// same route. mu is held.
func (p *Publisher) eachRoute(set tags.Set, removed bool, f func(*route, []*tagEntry[tagState])) {
	byRoute := make(map[*route][]*tagEntry[tagState])
	p.candidates([]change{{after: set}}, func(e *tagEntry[tagState]) {
		if set.Contains(e.tag) && e.value.removed == removed { // written under mu only
			r := e.value.route.Load()
			byRoute[r] = append(byRoute[r], e)
		}
	})
	for r, entries := range byRoute {
		f(r, entries)
	}
}
