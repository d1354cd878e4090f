// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"io"
	"iter"

	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// Batch is what a subscription has received in one page, at least one message, all of one
// publisher, in the order of their arrival. What the policies of the subscription's own queue
// have left of several pages may be in one Batch. The zero value is none.
//
// It belongs to one goroutine at a time. A copy is the same Batch.
type Batch struct {
	is         any // a *parcel; nil of the zero value
	generation uint32
}

// parcelOf returns nil of the zero value.
func parcelOf(b Batch) *parcel {
	p, _ := b.is.(*parcel)
	return p
}

// Len returns the number of messages; 0 of the zero value.
//
//go:noinline
func (b Batch) Len() int {
	p := parcelOf(b)
	if p == nil {
		return 0
	}
	return p.messages
}

// Publisher says where the messages come from; see Message.Publisher. It is nil of the zero Batch.
//
//go:noinline
func (b Batch) Publisher() *Peer {
	p := parcelOf(b)
	if p == nil {
		return nil
	}
	return p.publisher
}

// AppendTo appends the messages of the batch to a slice. Their Data is valid until Release, and
// with Message.Retain longer.
func (b Batch) AppendTo(messages []Message) []Message {
	p := parcelOf(b)
	if p == nil {
		return messages
	}
	turn := p.origin.Turn()
	for i := range p.parts {
		part := &p.parts[i]
		if part.run {
			messages = part.appendRun(messages, p, turn)
			continue
		}
		origin := &p.origin
		if part.id != (wire.ID{}) {
			origin = origin.Request(retain.ID(part.id))
		}
		messages = append(messages, Message{
			Tag: part.tag, Status: part.status, turn: turn, Counter: part.counter, Publisher: p.publisher, Data: part.data, origin: origin,
		})
	}
	return messages
}

// Rows sets the first Len of rows to the messages of the batch.
func (b Batch) Rows(rows []Row) {
	p := parcelOf(b)
	if p == nil {
		return
	}
	n := 0
	for i := range p.parts {
		part := &p.parts[i]
		if part.run {
			part.rows(rows[n : n+part.n])
		} else {
			rows[n] = Row{
				Tag: part.tag, Counter: part.counter, Data: address(part.data), Size: uint32(len(part.data)), Status: part.status,
				Request: part.id != (wire.ID{}),
			}
		}
		n += part.n
	}
}

// HasRequests reports whether some messages have a RequestID.
//
//go:noinline
func (b Batch) HasRequests() bool {
	p := parcelOf(b)
	return p != nil && p.requests
}

// Retain keeps the batch, with the Data of its messages, valid until Release: beyond the step
// of an iteration over Subscription.Batches, on any goroutine, and beyond the end of the
// subscriber. It counts once, with all its memory, up to SubscriberConfig.RetainBytes. A second
// Retain does nothing. Where the transport cannot spare the memory of a batch that is given to a
// handler, its bytes are copied: AppendTo and Rows say where they are then.
//
//   - Errors: ErrRetainLimit; ErrMessageOver.
func (b Batch) Retain() error {
	p := parcelOf(b)
	if p == nil || p.generation.Load() != b.generation {
		return ErrMessageOver
	}
	return p.retain()
}

// Release ends the batch: the Data of its messages may not be used any more, unless they are
// retained themselves. A second call does nothing. Threads: any.
func (b Batch) Release() {
	if p := parcelOf(b); p != nil && p.generation.CompareAndSwap(b.generation, b.generation+1) {
		p.release()
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
	if sub.shelf == nil || sub.shelf.call != nil {
		return Batch{}, ErrNotBatches
	}
	return sub.shelf.take(counts)
}

// NotifyBatches sets what is called when TakeBatch has something to return after it has returned
// ErrNoBatch: at most once in a turn of the loop, however many pages come in it, and at the end of
// the subscription. It must not block.
//
// Threads: any, before the first TakeBatch.
func (handle *Subscription) NotifyBatches(ready func()) {
	sub := subscriptionOf(handle)
	if sub.shelf != nil {
		sub.shelf.ready.Store(&ready)
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
		case sub.shelf == nil || sub.shelf.call != nil:
			yield(Batch{}, ErrNotBatches)
			return
		case sub.owner.loop.OnAnyLoop():
			yield(Batch{}, ErrOnLoop)
			return
		}
		for {
			b, err := sub.shelf.next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Batch{}, err)
				return
			}
			more := yield(b, nil)
			b.over()
			if !more {
				return
			}
		}
	}
}

// over releases a batch after its step, unless it is retained.
func (b Batch) over() {
	if p := parcelOf(b); p.generation.Load() == b.generation && p.kept == nil {
		b.Release()
	}
}

// messagesOfBatches is Messages of a subscription that keeps batches.
func (sub *subscriptionImpl) messagesOfBatches(ctx context.Context, yield func(Message, error) bool) {
	if sub.owner.loop.OnAnyLoop() {
		yield(Message{}, ErrOnLoop)
		return
	}
	r := &sub.shelf.reading
	for {
		if ctx.Err() != nil {
			yield(Message{}, context.Cause(ctx))
			return
		}
		if r.at == len(r.messages) {
			b, err := sub.shelf.next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Message{}, err)
				return
			}
			r.batch.Release()
			r.batch, r.messages, r.at = b, b.AppendTo(r.messages[:0]), 0
		}
		r.at++
		if !yield(r.messages[r.at-1], nil) {
			return
		}
	}
}

// Kept keeps the Data of messages valid; see RetainBatch.
type Kept struct {
	message Message // without Data
}

// Release ends RetainBatch. A second call does nothing. Threads: any.
func (k Kept) Release() { k.message.Release() }

// RetainBatch keeps the Data of the messages that a BatchHandler was called with valid until
// Release, as Message.Retain does for one message: together they count once. Where the transport
// cannot spare the memory the bytes are copied, and RetainBatch changes Data of all messages.
//
//   - messages: all, or some, that the handler was called with. Of none there is nothing to keep.
//   - Errors: ErrRetainLimit; ErrMessageOver. The messages are as valid as before.
//   - Threads: that of the handler. Blocks: never.
func RetainBatch(messages []Message) (Kept, error) {
	if len(messages) == 0 {
		return Kept{}, nil
	}
	m := &messages[0]
	size := 0
	for i := range messages {
		size += len(messages[i].Data)
	}
	kept, turn, own, err := m.origin.RetainAll(m.turn, size)
	if err != nil {
		return Kept{}, explainRetain(err)
	}
	if own {
		memory := make([]byte, 0, size)
		for i := range messages {
			begin := len(memory)
			memory = append(memory, messages[i].Data...)
			messages[i].Data = memory[begin:len(memory):len(memory)]
		}
	}
	return Kept{Message{origin: kept, turn: turn}}, nil
}
