// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"io"
	"iter"

	"tagbus/bus/internal/pull"
	"tagbus/tags"
)

// Messages iterates over the messages of a subscription without handler, in the order
// of arrival. It ends without error when the subscription is closed. It ends with an
// error when the subscriber is closed, ctx ends, or no publisher acknowledges the
// subscription in time. A break loses nothing: the next iteration goes on. Message.Data
// is valid until the next step.
//
// When the loop body is slow the queue fills up to SubscriberConfig.QueueBytes. Then
// the policy holds here as it does at the publisher: DropNewest and Sample lose the new
// messages, DropOldest those that wait longest, Latest all but the newest of each tag;
// Overflowed counts them, and Gap events with ErrQueueFull name them. No other
// subscription is affected. With Block or Disconnect the subscriber stops reading from
// the publishers concerned, and they wait as the policy says. That stops all
// subscriptions, since they share a publisher's connection. Do not wait for another
// subscription's acknowledgement inside the loop body.
//
//   - Threads: one goroutine at a time, not a loop's: there it yields
//     ErrOnLoop.
//
//go:noinline
func (handle *Subscription) Messages(ctx context.Context) iter.Seq2[Message, error] {
	sub := subscriptionOf(handle)
	return func(yield func(Message, error) bool) {
		switch {
		case sub.reader == nil:
			yield(Message{}, ErrHasHandler)
			return
		case sub.owner.loop.OnAnyLoop():
			yield(Message{}, ErrOnLoop)
			return
		}
		in := sub.reader
		for {
			if ctx.Err() != nil {
				yield(Message{}, context.Cause(ctx))
				return
			}
			if counter, data, ok := in.Take(); ok {
				if !yield(Message{
					Tag: in.Tag, Status: Status(in.Status), turn: in.Turn, Counter: counter, Publisher: in.Publisher, Data: data, origin: in.Origin,
				}, nil) {
					return
				}
				continue
			}
			switch err := in.Wait(ctx); {
			case errors.Is(err, pull.ErrEnd):
				return
			case err != nil:
				yield(Message{}, err)
				return
			}
		}
	}
}

// SubscribePages is SubscribeBatch for a handler that makes of a page what it needs: no Message is
// made for it. The batch is valid until the handler returns; Batch.Retain keeps it.
func (handle *Subscriber) SubscribePages(set tags.Set, h func(Batch), cfg SubscriptionConfig) (*Subscription, error) {
	sub, err := subscriberOf(handle).subscribe(set, handlers{pages: h}, cfg)
	return sub.handle(), err
}

// TakeBatch takes the next batch of a subscription with SubscriptionConfig.Batches, and does not
// wait for one. Until Release it counts as retained, beside one that does not count: so a batch of
// any size can be taken while no other is held.
//
//   - Errors, as they are: ErrNoBatch, if there is none now; io.EOF, when the subscription is
//     closed and all was taken; ErrRetainLimit, and the batch stays in the queue; ErrNotBatches.
//     Otherwise why the subscription has ended, after all was taken.
//   - Threads: any; each batch goes to one of them. Blocks: never.
//
//go:noinline
func (handle *Subscription) TakeBatch() (Batch, error) { return subscriptionOf(handle).takeBatch(true) }

// ReadBatch is TakeBatch for one that is read at once, as in a step of Batches: it does not count,
// unless Batch.Retain keeps it.
//
// Errors: those of TakeBatch, without ErrRetainLimit.
//
//go:noinline
func (handle *Subscription) ReadBatch() (Batch, error) {
	return subscriptionOf(handle).takeBatch(false)
}

func (sub *subscriptionImpl) takeBatch(counts bool) (Batch, error) {
	if sub.reader == nil || sub.batches == nil {
		return Batch{}, ErrNotBatches
	}
	b, err := sub.batches.Take(counts)
	switch {
	case errors.Is(err, pull.ErrEnd):
		return Batch{}, io.EOF
	case err != nil:
		return Batch{}, err
	}
	return batchOf(b), nil
}

// NotifyBatches sets what is called when TakeBatch has something to return after it has returned
// ErrNoBatch: at most once in a turn of the loop, however many pages come in it, and at the end of
// the subscription. It must not block.
//
// Threads: any, before the first TakeBatch.
func (handle *Subscription) NotifyBatches(ready func()) {
	if sub := subscriptionOf(handle); sub.batches != nil {
		sub.batches.Notify(ready)
	}
}

// Batches iterates over the batches of a subscription with SubscriptionConfig.Batches, as Messages
// does over messages: with the same order, end, and policies when the loop body is slow. A batch is
// valid until the next step; Batch.Retain keeps it.
//
//   - Threads: any, also several at a time, but not a loop's: there it yields ErrOnLoop.
//
//go:noinline
func (handle *Subscription) Batches(ctx context.Context) iter.Seq2[Batch, error] {
	sub := subscriptionOf(handle)
	return func(yield func(Batch, error) bool) {
		switch {
		case sub.reader == nil || sub.batches == nil:
			yield(Batch{}, ErrNotBatches)
			return
		case sub.owner.loop.OnAnyLoop():
			yield(Batch{}, ErrOnLoop)
			return
		}
		for {
			p, err := sub.batches.Next(ctx)
			if errors.Is(err, pull.ErrEnd) {
				return
			}
			if err != nil {
				yield(Batch{}, err)
				return
			}
			b := batchOf(p)
			more := yield(b, nil)
			p.Over(b.generation)
			if !more {
				return
			}
		}
	}
}
