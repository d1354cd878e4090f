// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"slices"

	"tagbus/bus/internal/wire"
)

// deliverRun delivers a message to its only target, a batch or a queue, and with it the
// plain messages behind it, unless each of them may be lost by itself. No handler runs.
func (src *source) deliverRun(rcv *received, t target, done *delivered, turn uint32) {
	m := src.message(rcv, turn)
	if !t.deliver(m) {
		done.fails()
	}
	m.Status, m.Counter, m.origin = 0, m.Counter+1, &src.origin
	var messages, bytes int
	switch {
	case t.sub.batch != nil:
		messages, bytes = t.sub.gather(m, &src.reader)
	case t.sub.cfg.Policy.Lossless():
		messages, bytes = t.sub.enqueueRun(src, m)
	}
	rcv.tally.DeliverAll(uint64(messages))
	done.messages += uint64(messages)
	done.bytes += uint64(bytes)
}

// gather adds the plain messages that follow to the batch. The first is like m.
func (sub *Subscription) gather(m Message, r *wire.Reader) (messages, bytes int) {
	page, at, left := r.Plain()
	batch := sub.pending
	for messages < left {
		data, next, ok := wire.Cut(page, at)
		if !ok {
			break
		}
		if len(batch) == cap(batch) { // not for all that are left: they may be those of many subscriptions
			batch = slices.Grow(batch, 1)
		}
		batch = batch[:len(batch)+1]
		to := &batch[len(batch)-1] // field by field: a copy of m would wait for the stores into it
		to.Tag, to.Status, to.turn, to.Counter = m.Tag, m.Status, m.turn, m.Counter+uint64(messages)
		to.Publisher, to.Data, to.origin = m.Publisher, data, m.origin
		messages++
		bytes += len(data)
		at = next
	}
	sub.pending = batch
	r.Skip(at, messages)
	return messages, bytes
}

// collect adds a message to the batch of a subscription.
func (src *source) collect(sub *Subscription, m Message) {
	if len(sub.pending) == 0 {
		src.batches = append(src.batches, sub)
	}
	sub.pending = append(sub.pending, m)
}

// deliverBatch delivers the messages of a page to a subscription with a BatchHandler.
func (src *source) deliverBatch(done *delivered) {
	last := len(src.batches) - 1
	sub := src.batches[last]
	src.batches = src.batches[:last]
	batch := sub.pending
	sub.pending = batch[:0]
	if src.version != done.version { // as in target.takes
		batch = slices.DeleteFunc(batch, func(m Message) bool { return !sub.live.Contains(m.Tag) })
	}
	if len(batch) > 0 && !sub.closed.Load() && !src.sub.closed.Load() {
		defer src.recovered(done, batch[0].Tag, len(batch))
		sub.batch(batch)
	}
}
