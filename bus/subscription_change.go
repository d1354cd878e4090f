// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"

	"tagbus/bus/internal/request"
	"tagbus/bus/internal/wanted"
	"tagbus/bus/internal/workqueue"
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
	err := sub.wishes.Add(set)
	if errors.Is(err, subscription.ErrTooManyTags) {
		return fmt.Errorf("bus: add to a subscription: %w", err)
	}
	return err
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
	err := sub.wishes.Remove(set)
	switch {
	case errors.Is(err, tags.ErrTooComplex):
		return fmt.Errorf("bus: remove %s from a subscription: %w", shortSet(set), err)
	case errors.Is(err, wanted.ErrEmpty):
		return fmt.Errorf("%w would be left: close the subscription instead", ErrEmptySet)
	}
	return err
}

// change is called before each change of the wanted set.
//
//   - first: since apply.
//   - Errors: ErrClosed.
func (sub *subscriptionImpl) change(first bool) error {
	if sub.closed.Load() || sub.owner.closed.Load() || first && !sub.owner.loop.Post(sub.apply) {
		return ErrClosed
	}
	return nil
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
	live, changed := sub.wishes.Take()
	if !changed {
		return
	}
	sub.live = live
	sub.owner.listing.Load().Changed()
	if sub.over() || sub.owner.closed.Load() {
		sub.wishes.Settle(ErrClosed)
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
	outcome := sub.wishes.Outcome()
	select {
	case <-outcome.Done():
		return outcome.Err()
	default:
	}
	if sub.owner.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	select {
	case <-outcome.Done():
		return outcome.Err()
	case <-ctx.Done():
		return fmt.Errorf("bus: wait for a publisher of %s: %w", shortSet(sub.Tags()), context.Cause(ctx))
	}
}

// maybeReady ends Wait if no publisher is left to wait for. Loop only.
func (sub *subscriptionImpl) maybeReady() {
	if !sub.wishes.Unsettled() {
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
		sub.wishes.Settle(nil)
	case denied != nil:
		sub.wishes.Settle(denied)
	}
}

// checkReady calls maybeReady for all subscriptions, when any of them may have no
// publisher left to wait for. Loop only.
func (s *subscriberImpl) checkReady() {
	s.checking.Add(&s.work, func() workqueue.Job {
		return s.subs.Each(func(sub *subscriptionImpl) (steps int) {
			sub.maybeReady()
			return request.Steps + len(s.sources)
		})
	})
}
