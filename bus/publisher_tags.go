// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"time"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/tags"
)

// Tags returns the tags that the publisher serves now.
func (p *Publisher) Tags() tags.Set {
	served, _ := p.fan.Served()
	return served
}

// AddTags begins to serve the tags of a set; it may serve some already. A subscriber
// with an acknowledged subscription to the tags gets their messages from the first one
// on. Others find the tags in the directory and subscribe, which WaitSubscribers waits
// for. A tag that was served before and then removed continues at its old position.
//
//   - Errors: ErrTooManyRemoved, ErrEntryTooLarge, *AccessError, the directory's, and ErrClosed:
//     nothing has been added.
//   - Threads: any. Blocks: for the directory's storage.
func (p *Publisher) AddTags(set tags.Set) error {
	p.announcing.Lock()
	defer p.announcing.Unlock()
	served, known := p.fan.Served() // what is announced may be more: see RemoveTags
	if known >= p.maxRemoved {
		return fmt.Errorf("%w: %d, limit %d", ErrTooManyRemoved, known, p.maxRemoved)
	}
	if err := errors.Join(checkEntry(served.Union(set)), self(p.cfg.Access, acl.Publish, set)); err != nil {
		return fmt.Errorf("bus: add tags %s: %w", shortSet(set), err)
	}
	if err := p.announce(served.Union(set), time.Now()); err != nil {
		if !errors.Is(err, ErrClosed) {
			err = errors.Join(err, p.announce(served, p.announced.Since)) // it must not show it later by itself
		}
		return err
	}
	p.fan.Serve(set)
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
	if err := p.fan.Retire(left, set); err != nil {
		return ErrClosed
	}
	return p.announce(left, p.announced.Since)
}

// announce changes the directory entry. announcing is held.
//
// Errors: ErrClosed, or the directory's.
func (p *Publisher) announce(set tags.Set, since time.Time) error {
	p.fan.Mu.Lock()
	open := p.state == publisherOpen
	p.fan.Mu.Unlock()
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
