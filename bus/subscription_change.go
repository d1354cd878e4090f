// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"
	"slices"

	"tagbus/bus/internal/request"
	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// Add adds tags to the subscription. Wait waits until the publishers have acknowledged
// them. The messages of the other tags go on meanwhile, none lost, doubled or
// reordered. Tags that the subscription already has change nothing. Calls in quick
// succession are carried out together.
//
//   - Errors: subscription.ErrTooManyTags, wrapped: nothing has been added;
//     ErrClosed.
//   - Threads: any. Blocks: never.
func (handle *Subscription) Add(set tags.Set) error {
	sub := subscriptionOf(handle)
	defer sub.applyOnLoop()
	sub.mu.Lock()
	defer sub.mu.Unlock()
	parts := sub.set.Parts() + set.Parts()
	for _, more := range sub.added {
		parts += more.Parts()
	}
	if parts > subscription.MaxParts {
		if parts = tags.Union(sub.unite(), set).Parts(); parts > subscription.MaxParts {
			return fmt.Errorf("bus: add to a subscription: %w", tagset.TooMany(parts))
		}
	}
	return sub.change(func() { sub.added = append(sub.added, set) })
}

// Remove takes tags out of the subscription. Its handlers are not called for them any
// more once the loop has taken notice; a call on the loop takes effect at once.
// Handlers set by Handle for these tags are forgotten. Wait waits until the publishers
// have acknowledged that they send them no more.
//
//   - Errors: ErrEmptySet if no tag would be left: use Close; tags.ErrTooComplex,
//     wrapped; ErrClosed. After an error nothing is removed.
//   - Threads: any. Blocks: never.
func (handle *Subscription) Remove(set tags.Set) error {
	sub := subscriptionOf(handle)
	defer sub.applyOnLoop()
	sub.mu.Lock()
	defer sub.mu.Unlock()
	left, err := sub.unite().Without(set)
	switch {
	case err != nil:
		return fmt.Errorf("bus: remove %s from a subscription: %w", shortSet(set), err)
	case left.IsEmpty():
		return fmt.Errorf("%w would be left: close the subscription instead", ErrEmptySet)
	}
	err = sub.change(func() { sub.set = left })
	if err == nil {
		for tag := range sub.byTag {
			if !left.Contains(tag) {
				delete(sub.byTag, tag)
			}
		}
	}
	return err
}

// change changes the wanted set by f, and schedules apply on the loop. mu is held.
//
// Errors: ErrClosed.
func (sub *subscriptionImpl) change(f func()) error {
	if sub.closed.Load() || sub.owner.closed.Load() {
		return ErrClosed
	}
	if !sub.applying && !sub.owner.loop.Post(sub.apply) {
		return ErrClosed
	}
	sub.applying = true
	f()
	if sub.ready.settled {
		sub.ready = newOutcome()
	}
	return nil
}

// unite returns the wanted set. mu is held.
func (sub *subscriptionImpl) unite() tags.Set {
	if len(sub.added) > 0 {
		sub.set = tags.Union(append(sub.added, sub.set)...)
		sub.added = nil
	}
	return sub.set
}

// contains is unite().Contains, but cheap. mu is held.
func (sub *subscriptionImpl) contains(tag tags.Tag) bool {
	return sub.set.Contains(tag) || slices.ContainsFunc(sub.added, func(s tags.Set) bool { return s.Contains(tag) })
}

// applyOnLoop applies a change at once if called on the loop: the next message of this
// very page would be too late.
func (sub *subscriptionImpl) applyOnLoop() {
	if sub.owner.loop.OnLoop() {
		sub.apply()
	}
}

// apply asks the publishers for the wanted set. Loop only.
func (sub *subscriptionImpl) apply() {
	sub.mu.Lock()
	if !sub.applying {
		sub.mu.Unlock()
		return
	}
	sub.applying = false
	sub.live = sub.unite()
	sub.mu.Unlock()
	sub.owner.listing.Load().Changed()
	if sub.over() || sub.owner.closed.Load() {
		sub.settle(ErrClosed)
		return
	}
	for _, src := range sub.owner.sources {
		src.considerOne(sub)
		src.tellDeniedOf(sub)
	}
	sub.maybeReady()
}

// Wait waits until the subscription, as of the last Add or Remove, is acknowledged.
// That takes every publisher of its tags that is connected, that is being connected for
// the first time, or that is in the directory and has acknowledged it before. The first
// time it takes at least one publisher. From then on every missed message is reported.
// A later publisher acknowledges with a Subscribed event.
//
//   - Errors: the publisher's reason, if all of them refused; *NoPublisherError
//     after SubscriptionConfig.Timeout; ErrClosed; ErrOnLoop; the cause of the end of
//     ctx, and the subscription stays open.
//   - Threads: any.
func (handle *Subscription) Wait(ctx context.Context) error {
	sub := subscriptionOf(handle)
	sub.mu.Lock()
	ready := sub.ready
	sub.mu.Unlock()
	select {
	case <-ready.done:
		return ready.err
	default:
	}
	if sub.owner.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	select {
	case <-ready.done:
		return ready.err
	case <-ctx.Done():
		return fmt.Errorf("bus: wait for a publisher of %s: %w", shortSet(sub.Tags()), context.Cause(ctx))
	}
}

// maybeReady ends Wait if no publisher is left to wait for. Loop only.
func (sub *subscriptionImpl) maybeReady() {
	sub.mu.Lock()
	wait := sub.applying || sub.ready.settled
	sub.mu.Unlock()
	if wait {
		return
	}
	acked := false
	var denied error
	for _, src := range sub.owner.sources {
		switch r := src.requests.Of(sub.id); {
		case r == nil:
			if src.contact.Pending() && src.concerns(sub) {
				return
			}
		case r.Subscribing() || r.Leaving():
			return
		case r.Denied() != nil:
			denied = r.Denied()
		case r.Current():
			acked = true
		case src.dial.may() && src.concerns(sub):
			return
		}
	}
	switch {
	case acked || denied == nil && sub.known:
		sub.settle(nil)
	case denied != nil:
		sub.settle(denied)
	}
}

// checkReady calls maybeReady for all subscriptions, when any of them may have no
// publisher left to wait for. Loop only.
func (s *subscriberImpl) checkReady() {
	if s.checking {
		return
	}
	s.checking = true // until the job begins: later changes need another one
	check := s.subs.Each(func(sub *subscriptionImpl) (steps int) {
		sub.maybeReady()
		return request.Steps + len(s.sources)
	})
	s.work.Add(func(budget int) (steps int, done bool) {
		s.checking = false
		return check(budget)
	})
}

// settle ends Wait. The first call counts.
func (sub *subscriptionImpl) settle(err error) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if r := sub.ready; !r.settled {
		r.settled, r.err = true, err
		close(r.done)
	}
}
