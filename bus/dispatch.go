// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"runtime/debug"
	"slices"

	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// target is one place to deliver a tag's messages to.
type target struct {
	sub     *Subscription
	handler Handler // nil: the subscription's batch or queue
}

// delivery is what a source needs to make messages of a page, and to hand them over.
type delivery struct {
	origin  retain.Origin   // of the messages of a page
	batches []*Subscription // that have pending messages of this page

	// What has several targets goes on here when one of them has panicked.
	message Message
	rest    []target // that the message has not reached yet
}

// onPage delivers the messages of a page in place: handlers see the memory into which
// the transport has read the page.
func (src *source) onPage(page []byte) {
	if err := src.in.Open(page); err != nil {
		src.breaks(err)
		return
	}
	for more := true; more; {
		more = src.deliver()
	}
	for len(src.page.batches) > 0 {
		src.deliverBatch()
	}
	src.page.origin.Next() // the page is over
	p, err := src.in.End(src.fault != nil)
	if err != nil {
		src.breaks(err)
	}
	c := &src.sub.counters
	c.pages.Add(1)
	c.messages.Add(p.Messages)
	c.bytes.Add(p.Bytes)
	if p.Unwanted > 0 {
		c.unwanted.Add(p.Unwanted)
	}
	src.page.message = Message{}
}

// breaks ends the connection to a publisher whose message cannot be taken: a page that is
// damaged, or what the intake says.
func (src *source) breaks(err error) {
	var damage *wire.Error
	var violation intake.Violation
	switch {
	case errors.As(err, &damage):
		src.fail((*PageError)(damage))
	case errors.As(err, &violation):
		src.fail(protocolError("%s", violation))
	default:
		src.fail(errors.Join(ErrProtocol, err))
	}
}

// deliver delivers until the page ends or a handler panics. It returns true after a
// panic, and is called again for the rest. So a panic costs no other handler a message.
func (src *source) deliver() (more bool) {
	defer func() {
		if v := recover(); v != nil {
			src.panicked(src.in.Reader.Tag, 1, v)
			more = true
		}
	}()
	src.deliverRest() // after a panic
	in, turn := &src.in, src.page.origin.Turn()
	for in.Next() {
		targets := in.Targets()
		if len(targets) > 1 {
			src.page.message, src.page.rest = src.message(turn), targets
			src.deliverRest()
			continue
		}
		t := &targets[0]
		if t.handler == nil {
			src.deliverRun(t.sub, turn)
			continue
		}
		t.handler(src.message(turn)) // not by handOver, which would copy the message again
		src.deliverPlain(t.handler, turn)
	}
	if err := in.Err(); err != nil {
		src.breaks(err)
	}
	return false
}

// message returns the message that was just read.
func (src *source) message(turn uint32) Message {
	r, origin := &src.in.Reader, &src.page.origin
	if r.Request {
		origin = origin.Request(retain.ID(r.ID))
	}
	return Message{Tag: r.Tag, Status: Status(r.Status), turn: turn, Counter: src.in.Position(), Publisher: src.contact.peer, Data: r.Data, origin: origin}
}

// deliverRest delivers a message to the targets that it has not reached yet.
func (src *source) deliverRest() {
	for o := &src.page; len(o.rest) > 0; {
		t := o.rest[0]
		o.rest = o.rest[1:] // before the call, which may panic
		if src.gets(t.sub, o.message.Tag) && !src.handOver(t, o.message) {
			src.in.Fails()
		}
	}
}

// gets reports whether a subscription still gets messages of a tag. A handler called since
// the page began may have closed it, or removed the tag.
func (src *source) gets(sub *Subscription, tag tags.Tag) bool {
	return !sub.closed.Load() && !src.sub.closed.Load() && (!src.in.Moved() || sub.live.Contains(tag))
}

// handOver reports whether a message was delivered, not lost by the subscription's queue.
func (src *source) handOver(t target, m Message) bool {
	switch {
	case t.handler != nil:
		t.handler(m)
	case t.sub.batch != nil:
		if len(t.sub.pending) == 0 {
			src.page.batches = append(src.page.batches, t.sub)
		}
		t.sub.pending = append(t.sub.pending, m)
	default:
		return t.sub.enqueue(src, m)
	}
	return true
}

// deliverPlain delivers the plain messages behind one to their only handler. It ends at
// any other message, or when the handler has changed something. It does what the loop
// in deliver does, less what is the same for all of these messages.
func (src *source) deliverPlain(h Handler, turn uint32) {
	in := &src.in
	r := &in.Reader
	r.Status, r.NewTag, r.Request = 0, false, false
	m := src.message(turn)
	for in.Same() {
		data, ok := r.NextPlain()
		if !ok {
			return
		}
		m.Counter, m.Data = in.Delivered(len(data)), data
		h(m)
	}
}

// deliverRun delivers a message to its only target, a batch or a queue, and with it the
// plain messages behind it, unless each of them may be lost by itself. No handler runs.
func (src *source) deliverRun(sub *Subscription, turn uint32) {
	m := src.message(turn)
	if !src.handOver(target{sub: sub}, m) {
		src.in.Fails()
	}
	m.Status, m.Counter, m.origin = 0, m.Counter+1, &src.page.origin
	switch {
	case sub.batch != nil:
		src.in.DeliveredAll(sub.gather(m, &src.in.Reader))
	case sub.cfg.Policy.Lossless():
		src.in.DeliveredAll(sub.enqueueRun(src, m))
	}
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

// deliverBatch delivers the messages of a page to a subscription with a BatchHandler.
func (src *source) deliverBatch() {
	o := &src.page
	last := len(o.batches) - 1
	sub := o.batches[last]
	o.batches = o.batches[:last]
	batch := sub.pending
	sub.pending = batch[:0]
	if src.in.Moved() { // as in gets
		batch = slices.DeleteFunc(batch, func(m Message) bool { return !sub.live.Contains(m.Tag) })
	}
	if len(batch) == 0 || sub.closed.Load() || src.sub.closed.Load() {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			src.panicked(batch[0].Tag, len(batch), v)
		}
	}()
	sub.batch(batch)
}

// panicked counts and reports a handler that has panicked.
//
//   - messages: that it was called with.
func (src *source) panicked(tag tags.Tag, messages int, v any) {
	src.sub.counters.panics.Add(1)
	src.in.Drop(src.in.Reader.Lane, tag, ledger.Panic, uint64(messages), false)
	src.event(Event{Kind: Problem, Peer: src.contact.peer, Tag: tag, Err: &PanicError{Tag: tag, Value: v, Stack: debug.Stack()}})
	src.in.Fails()
}
