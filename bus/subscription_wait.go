// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"
	"time"
)

// Wait waits until the subscription, as of the last Add or Remove, is acknowledged.
// That takes every publisher of its tags that is connected, that is being connected for
// the first time, or that is in the directory and has acknowledged it before. The first
// time it takes at least one publisher. From then on every missed message is reported.
// A later publisher acknowledges with a Subscribed event.
//
// The first Wait of a subscriber looks at the directory, and takes all publishers that are in it then. If
// the directory does not answer for 10 s after an acknowledgement, Wait takes those that
// it has told of.
//
//   - Errors: the publisher's reason, if all of them refused; *NoPublisherError
//     after SubscriptionConfig.Timeout; ErrClosed; ErrOnLoop; the cause of the end of
//     ctx, with that of a directory that does not answer, and the subscription stays open.
//   - Threads: any.
func (sub *Subscription) Wait(ctx context.Context) error {
	if sub.owner.loop.OnAnyLoop() {
		return sub.outcomeNow()
	}
	whole := sub.owner.wholeLook()
	ready := sub.outcome()
	var patience <-chan time.Time
	var acknowledged time.Time
	done := ready.done
	for {
		select {
		case <-whole:
			return sub.await(ctx, sub.outcome())
		default:
		}
		select {
		case <-whole:
		case <-done:
			if ready.err != nil {
				return ready.err
			}
			acknowledged, patience, done = time.Now(), time.After(lookPatience), nil
		case now := <-patience:
			left := tellPatience - now.Sub(acknowledged)
			if left <= 0 || sub.owner.look.why() != nil {
				return nil
			}
			patience = time.After(left)
		case <-ctx.Done():
			return sub.cut(ctx)
		}
	}
}

// outcome returns that of what is asked for now.
func (sub *Subscription) outcome() *outcome {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.ready
}

// outcomeNow is Wait where nothing may block.
func (sub *Subscription) outcomeNow() error {
	ready := sub.outcome()
	select {
	case <-ready.done:
		return ready.err
	default:
		return ErrOnLoop
	}
}

// await waits for an outcome.
func (sub *Subscription) await(ctx context.Context, ready *outcome) error {
	select {
	case <-ready.done:
		return ready.err
	default:
	}
	select {
	case <-ready.done:
		return ready.err
	case <-ctx.Done():
		return fmt.Errorf("bus: wait for a publisher of %s: %w", shortSet(sub.Tags()), context.Cause(ctx))
	}
}

// cut returns the error of a Wait that ends before the directory has told of all publishers.
func (sub *Subscription) cut(ctx context.Context) error {
	if err := sub.owner.look.why(); err != nil {
		return fmt.Errorf("bus: wait for the publishers of %s: the directory cannot be looked at (%w): %w", shortSet(sub.Tags()), err, context.Cause(ctx))
	}
	return fmt.Errorf("bus: wait for the publishers of %s: the directory has not told of all yet: %w", shortSet(sub.Tags()), context.Cause(ctx))
}
