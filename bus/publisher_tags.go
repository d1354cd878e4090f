// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/bus/internal/fanout"
	"tagbus/tags"
)

// Tags returns the tags that the publisher serves now.
//
//go:noinline
func (handle *Publisher) Tags() tags.Set {
	p := publisherOf(handle)
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
func (handle *Publisher) AddTags(set tags.Set) error {
	p := publisherOf(handle)
	p.announcing.Lock()
	defer p.announcing.Unlock()
	served, known := p.fan.Served() // what is announced may be more: see RemoveTags
	if known >= p.maxRemoved {
		return fmt.Errorf("%w: %d, limit %d", ErrTooManyRemoved, known, p.maxRemoved)
	}
	if err := errors.Join(checkEntry(served.Union(set)), self(p.cfg.Access, acl.Publish, set)); err != nil {
		return fmt.Errorf("bus: add tags %s: %w", shortSet(set), err)
	}
	if err := p.entry.Extend(served.Union(set)); err != nil {
		return withdrawn(err)
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
func (handle *Publisher) RemoveTags(set tags.Set) error {
	p := publisherOf(handle)
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
	return withdrawn(p.entry.Reduce(left))
}

// withdrawn returns ErrClosed for the error of an entry that is withdrawn: the publisher ends.
func withdrawn(err error) error {
	if errors.Is(err, directory.ErrWithdrawn) {
		return ErrClosed
	}
	return err
}

// WaitSubscribers waits until at least n subscribers have a subscription, and each tag
// of set has a subscriber.
//
//   - set: the tags that are about to be published; often PublisherConfig.Tags.
//   - Errors: ErrClosed; ErrOnLoop; tags.ErrTooComplex, wrapped, when the sets
//     have too many overlapping masks to compare; the cause of the end of ctx.
//   - Threads: any.
func (handle *Publisher) WaitSubscribers(ctx context.Context, n int, set tags.Set) error {
	p := publisherOf(handle)
	err := p.fan.AwaitSubscribed(ctx, n, set, p.mayWait)
	switch {
	case err == nil, errors.Is(err, ErrOnLoop):
		return err
	case errors.Is(err, fanout.ErrStopped):
		return ErrClosed
	case errors.Is(err, tags.ErrTooComplex):
		return fmt.Errorf("bus: wait for %d subscribers of %s: %w", n, shortSet(set), err)
	}
	return fmt.Errorf("bus: wait for %d subscribers: %w", n, err)
}

// mayWait returns ErrOnLoop on a loop, and otherwise nil.
func (p *publisherImpl) mayWait() error {
	if p.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	return nil
}
