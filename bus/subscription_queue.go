// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"slices"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/pull"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// sourceTag names the messages that supersede each other.
type sourceTag struct {
	src *source
	tag tags.Tag
}

// openQueue makes what has the messages of a subscription without a handler for them.
//
//   - pages: gets them page by page; nil: they are taken.
func (sub *subscriptionImpl) openQueue(pages func(Batch)) {
	cfg := pull.Config{
		Loop: sub.owner.loop, Retainer: sub.owner.retainer, Limit: sub.owner.cfg.QueueBytes,
		Policy: subscription.PolicyKind(sub.cfg.Policy.Kind), Drained: sub.unpause,
	}
	sub.lossy, sub.overflow = pages == nil && !sub.cfg.Policy.Lossless(), sub.overflows
	switch {
	case pages != nil:
		sub.pages = func(b *pull.Batch[*Peer]) { pages(batchOf(b)) }
		sub.batches = pull.NewBatches[sourceTag, *Peer](cfg, false)
	case sub.cfg.Batches:
		sub.batches = pull.NewBatches[sourceTag, *Peer](cfg, sub.lossy)
		sub.reader = sub.batches.Reader()
	default:
		sub.messages = pull.NewMessages[sourceTag, *Peer](cfg)
		sub.reader = sub.messages.Reader()
	}
}

// endQueue ends what has the messages of a subscription without handler, behind them.
func (sub *subscriptionImpl) endQueue(err error) {
	if sub.messages != nil {
		sub.messages.Close(err)
	}
	if sub.batches != nil {
		sub.batches.Close(err)
	}
}

// enqueue queues a message. With a full queue a subscription that may lose messages
// loses some, and any other stops reading from the publisher. It returns false if the
// message itself is lost. Loop only.
func (d *dispatcher) enqueue(sub *subscriptionImpl, m *Message) (taken bool) {
	x := pull.Message[*Peer]{ // made here: a copy would wait for the stores into it
		Tag: m.Tag, Status: uint8(m.Status), Counter: m.Counter, Publisher: m.Publisher, Data: m.Data, ID: m.RequestID().id,
	}
	switch {
	case sub.batches == nil && sub.lossy:
		return sub.messages.PushLossy(sourceTag{d.src, m.Tag}, &x, sub.overflow)
	case sub.batches == nil:
		if sub.messages.Push(&x) {
			sub.stall(d.src)
		}
	case sub.lossy:
		return sub.batches.PushLossy(sourceTag{d.src, m.Tag}, &x, sub.overflow)
	case sub.batches.Add(&x):
		d.batches = append(d.batches, sub)
	}
	return true
}

// enqueueRun queues the plain messages that follow. The first is like m. The subscription
// must not lose messages. Loop only.
func (d *dispatcher) enqueueRun(sub *subscriptionImpl, m *Message) (messages, bytes int) {
	run, messages := d.Reader.Run()
	if messages == 0 {
		return 0, 0
	}
	x := pull.Message[*Peer]{Tag: m.Tag, Status: uint8(m.Status), Counter: m.Counter, Publisher: m.Publisher}
	if sub.batches == nil {
		if sub.messages.PushRun(&x, run, messages) {
			sub.stall(d.src)
		}
	} else if sub.batches.AddRun(&x, run, messages) {
		d.batches = append(d.batches, sub)
	}
	return messages, len(run) - messages*wire.PlainBytes
}

// gather adds the plain messages that follow to the batch. The first is like m.
func (sub *subscriptionImpl) gather(m Message, r *wire.Reader) (messages, bytes int) {
	page, at, left := r.Plain()
	before := len(sub.pending)
	sub.pending, at, bytes = appendPlain(sub.pending, &m, page, at, left)
	messages = len(sub.pending) - before
	r.Skip(at, messages)
	return messages, bytes
}

// deliverPage delivers the messages of a page to a subscription that has them as a Batch.
func (d *dispatcher) deliverPage(sub *subscriptionImpl) {
	if d.Moved() { // as in gets
		sub.batches.KeepOnly(sub.live)
	}
	messages, first := sub.batches.Added()
	switch {
	case messages == 0 || sub.closed.Load() || d.src.sub.closed.Load():
		sub.batches.Discard()
	case sub.pages != nil:
		defer func() {
			if v := recover(); v != nil {
				d.panicked(first, messages, v)
			}
		}()
		sub.batches.Deliver(&d.pages, sub.pages)
	case sub.batches.Commit(&d.pages):
		sub.stall(d.src)
	}
}

// stall stops reading from a publisher until unpause. Loop only.
func (sub *subscriptionImpl) stall(src *source) {
	if !slices.Contains(sub.pausing, src) {
		sub.pausing = append(sub.pausing, src)
		src.reading.Pause()
	}
}

// unpause resumes reading after a full queue. Loop only.
func (sub *subscriptionImpl) unpause() {
	if sub.held {
		return // until Resume
	}
	for _, src := range sub.pausing {
		src.reading.Resume()
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
		sub.owner.counters.Supersede()
	}
	lost.src.in.Drop(sub.lane, lost.tag, ledger.Queue, 1, superseded)
}
