// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"iter"
	"slices"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/mailbox"
	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// inbox has the messages of a subscription without handler, on their way from the loop
// to the goroutine that iterates.
type inbox struct {
	box    *mailbox.Box[sourceTag, queued]
	bell   bell
	origin retain.Origin // of the messages that are being read

	// Reader only.
	message Message // that was taken last; of a run its Data is that of the first
	run     []byte  // in which it is, with plain messages like it
	at      int     // where the next of these begins
	last    uint64  // the counter of the last of them
	reads   int     // iterations so far
	reader  int     // the one that took message
}

// sourceTag names the messages that supersede each other.
type sourceTag struct {
	src *source
	tag tags.Tag
}

// queued is a message without Data, or the first one of a run.
type queued struct {
	tag       tags.Tag
	status    Status
	request   bool   // its id stands before the payload
	run       uint32 // of so many plain messages; 0: it is none
	counter   uint64
	publisher *Peer
}

func newInbox(owner *subscriberImpl, kind PolicyKind) *inbox {
	in := &inbox{box: mailbox.New[sourceTag, queued](owner.cfg.QueueBytes, subscription.PolicyKind(kind))}
	in.bell.init(owner.loop, func() bool {
		in.box.Wake()
		return true
	})
	in.origin.Init(owner.retainer, func() (netio.Retained, error) { return retain.Heap(in.box.Leave()), nil })
	return in
}

// take sets m to the next message that is ready. m is what the last call for the same
// iteration made of it: of a run it sets only what changes, since copying a message that
// was just written is slow. Another iteration, within this one, may have taken some meanwhile.
func (in *inbox) take(reader int, m *Message) (ok bool) {
	if in.reader != reader {
		in.reader, *m = reader, in.message
	}
	if data, next, more := wire.Cut(in.run, in.at); more && in.message.Counter < in.last {
		in.at = next
		in.message.Counter++
		m.Counter, m.Data = in.message.Counter, data
		return true
	}
	q, data, ok := in.box.Take()
	if !ok {
		return false
	}
	if in.run, in.at = nil, 0; q.run > 0 {
		// Its publisher may have changed it between the count and the copy.
		in.run, in.last = data, q.counter+uint64(q.run-1)
		data, in.at, _ = wire.Cut(data, 0)
	}
	origin := &in.origin
	if q.request {
		id := retain.ID(data)
		origin, data = origin.Request(id), data[len(id):]
	}
	*m = Message{
		Tag: q.tag, Status: q.status, turn: in.origin.Turn(), Counter: q.counter, Publisher: q.publisher, Data: data, origin: origin,
	}
	in.message = *m
	return true
}

// next waits for messages and makes them ready. drained: the subscription goes on
// reading.
func (in *inbox) next(ctx context.Context) (drained bool, err error) {
	in.message, in.run, in.at = Message{}, nil, 0
	in.origin.Next()
	return in.box.Next(ctx)
}

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
		case sub.shelf != nil && sub.shelf.call == nil:
			sub.messagesOfBatches(ctx, yield)
			return
		case sub.inbox == nil:
			yield(Message{}, ErrHasHandler)
			return
		}
		if sub.owner.loop.OnAnyLoop() {
			yield(Message{}, ErrOnLoop)
			return
		}
		sub.inbox.reads++
		reader, m := sub.inbox.reads, Message{}
		for {
			if ctx.Err() != nil {
				yield(Message{}, context.Cause(ctx))
				return
			}
			if sub.inbox.take(reader, &m) {
				if !yield(m, nil) {
					return
				}
				continue
			}
			drained, err := sub.inbox.next(ctx)
			if drained {
				sub.owner.loop.Post(sub.unpause)
			}
			if errors.Is(err, mailbox.ErrEnd) {
				return
			}
			if err != nil {
				yield(Message{}, err)
				return
			}
		}
	}
}

// enqueue queues a message. With a full queue a subscription that may lose messages
// loses some, and any other stops reading from the publisher. It returns false if the
// message itself is lost. Loop only.
func (sub *subscriptionImpl) enqueue(src *source, m Message) bool {
	q, data := queued{tag: m.Tag, status: m.Status, counter: m.Counter, publisher: m.Publisher}, m.Data
	if id := m.RequestID(); id != (RequestID{}) {
		q.request, data = true, append(id.id[:], data...)
	}
	if !sub.cfg.Policy.Lossless() {
		taken := sub.inbox.box.PushLossy(sourceTag{src, m.Tag}, q, data, sub.overflow)
		if sub.shelf != nil {
			sub.shelf.told(len(data))
		} else {
			sub.inbox.told(len(data))
		}
		return taken
	}
	if sub.inbox.box.Push(q, data) {
		sub.stall(src)
	}
	sub.inbox.told(len(data))
	return true
}

// enqueueRun queues the plain messages that follow. The first is like m. The subscription
// must not lose messages. Loop only.
func (sub *subscriptionImpl) enqueueRun(src *source, m Message) (messages, bytes int) {
	run, messages := src.in.Reader.Run()
	if messages == 0 {
		return 0, 0
	}
	bytes = len(run) - messages*wire.PlainBytes
	q := queued{tag: m.Tag, status: m.Status, run: uint32(messages), counter: m.Counter, publisher: m.Publisher}
	if sub.inbox.box.PushRun(q, run, bytes+messages*mailbox.MessageBytes) {
		sub.stall(src)
	}
	sub.inbox.told(len(run))
	return messages, bytes
}

// told has a reader that waits woken at the end of the turn. Loop only.
func (in *inbox) told(bytes int) {
	in.bell.bytes += bytes
	if in.box.Waits() {
		in.bell.ring()
	}
}

// stall stops reading from a publisher until unpause. Loop only.
func (sub *subscriptionImpl) stall(src *source) {
	if !slices.Contains(sub.pausing, src) {
		sub.pausing = append(sub.pausing, src)
		src.pause()
	}
}

// unpause resumes reading after a full queue. Loop only.
func (sub *subscriptionImpl) unpause() {
	if sub.held {
		return // until Resume
	}
	for _, src := range sub.pausing {
		src.resume()
	}
	sub.pausing = nil
}

// Overflowed returns how many messages the subscription has received and lost again.
// That happens without a handler, with a policy that may lose messages, when
// SubscriberConfig.QueueBytes wait for Messages. Gap events with ErrQueueFull name
// them. Threads: any.
//
//go:noinline
func (handle *Subscription) Overflowed() uint64 { return subscriptionOf(handle).overflowed.Load() }

// overflows counts and reports a message that the queue has lost. Loop only.
func (sub *subscriptionImpl) overflows(lost sourceTag) {
	sub.overflowed.Add(1)
	superseded := sub.cfg.Policy.Kind == Latest // left out on purpose
	if superseded {
		sub.owner.counters.superseded.Add(1)
	}
	lost.src.in.Drop(sub.lane, lost.tag, ledger.Queue, 1, superseded)
}
