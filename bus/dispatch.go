// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"runtime/debug"
	"slices"

	"tagbus/bus/internal/events"
	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/pull"
	"tagbus/bus/internal/retain"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// target is one place to deliver a tag's messages to.
type target struct {
	sub     *subscriptionImpl
	handler Handler // nil: the subscription's batch or queue
}

// dispatcher makes messages of what arrives of one publisher, and hands them over.
type dispatcher struct {
	intake.Intake[target, gap]
	src *source

	origin  retain.Origin       // of the messages of a page
	pages   pull.Pages          // those that are kept
	batches []*subscriptionImpl // that have pending messages of this page

	// What has several targets goes on here when one of them has panicked.
	shared Message
	rest   []target // that it has not reached yet
}

// init prepares the dispatcher of a publisher of which nothing has come.
func (d *dispatcher) init(src *source) {
	d.src = src
	d.Intake = intake.New[target, gap](d, &src.requests.Book, &src.sub.second)
	d.pages.Retain = func() (netio.Retained, error) {
		if src.contact.Ep == nil {
			return nil, netio.ErrNoMessage
		}
		return src.contact.Ep.Retain() // the page that is being delivered
	}
	d.origin.Init(src.sub.retainer, d.pages.Retain)
}

// onPage delivers the messages of a page in place: handlers see the memory into which
// the transport has read the page.
//
//   - head, records: its header and the rest.
func (d *dispatcher) onPage(head, records []byte) {
	if err := d.Open(head, records); err != nil {
		d.src.breaks(err)
		return
	}
	for more := true; more; {
		more = d.deliver()
	}
	for len(d.batches) > 0 {
		d.deliverBatch()
	}
	d.origin.Next() // the page is over
	p, err := d.End(d.src.fault != nil)
	if err != nil {
		d.src.breaks(err)
	}
	d.src.sub.counters.Page(p)
	d.shared = Message{}
}

// deliver delivers until the page ends or a handler panics. It returns true after a
// panic, and is called again for the rest. So a panic costs no other handler a message.
func (d *dispatcher) deliver() (more bool) {
	defer func() {
		if v := recover(); v != nil {
			d.panicked(d.Reader.Tag, 1, v)
			more = true
		}
	}()
	d.deliverRest() // after a panic
	turn := d.origin.Turn()
	for d.Next() {
		targets := d.Targets()
		if len(targets) > 1 {
			d.shared, d.rest = d.message(turn), targets
			d.deliverRest()
			continue
		}
		t := &targets[0]
		if t.handler == nil {
			d.deliverRun(t.sub, turn)
			continue
		}
		t.handler(d.message(turn)) // not by handOver, which would copy the message again
		d.deliverPlain(t.handler, turn)
	}
	if err := d.Err(); err != nil {
		d.src.breaks(err)
	}
	return false
}

// message returns the message that was just read.
func (d *dispatcher) message(turn uint32) Message {
	r, origin := &d.Reader, &d.origin
	if r.Request {
		origin = origin.Request(retain.ID(r.ID))
	}
	return Message{Tag: r.Tag, Status: Status(r.Status), turn: turn, Counter: d.Position(), Publisher: d.src.contact.Peer, Data: r.Data, origin: origin}
}

// deliverRest delivers a message to the targets that it has not reached yet.
func (d *dispatcher) deliverRest() {
	for len(d.rest) > 0 {
		t := d.rest[0]
		d.rest = d.rest[1:] // before the call, which may panic
		if d.gets(t.sub, d.shared.Tag) && !d.handOver(t, d.shared) {
			d.Fails()
		}
	}
}

// gets reports whether a subscription still gets messages of a tag. A handler called since
// the page began may have closed it, or removed the tag.
func (d *dispatcher) gets(sub *subscriptionImpl, tag tags.Tag) bool {
	return !sub.closed.Load() && !d.src.sub.closed.Load() && (!d.Moved() || sub.live.Contains(tag))
}

// handOver reports whether a message was delivered, not lost by the subscription's queue.
func (d *dispatcher) handOver(t target, m Message) bool {
	if t.handler == nil {
		return d.collect(t.sub, &m)
	}
	t.handler(m)
	return true
}

// collect adds a message to the batch or the queue of a subscription. It returns false if the
// queue has lost it.
func (d *dispatcher) collect(sub *subscriptionImpl, m *Message) bool {
	if sub.batch == nil {
		return d.enqueue(sub, m)
	}
	if len(sub.pending) == 0 {
		d.batches = append(d.batches, sub)
	}
	sub.pending = append(sub.pending, *m)
	return true
}

// deliverPlain delivers the plain messages behind one to their only handler. It ends at
// any other message, or when the handler has changed something. It does what the loop
// in deliver does, less what is the same for all of these messages.
func (d *dispatcher) deliverPlain(h Handler, turn uint32) {
	r := &d.Reader
	r.Status, r.NewTag, r.Request = 0, false, false
	m := d.message(turn)
	for d.Same() {
		data, ok := r.NextPlain()
		if !ok {
			return
		}
		m.Counter, m.Data = d.Delivered(len(data)), data
		h(m)
	}
}

// deliverRun delivers a message to its only target, a batch or a queue, and with it the
// plain messages behind it, unless each of them may be lost by itself. No handler runs.
func (d *dispatcher) deliverRun(sub *subscriptionImpl, turn uint32) {
	m := d.message(turn)
	if !d.collect(sub, &m) {
		d.Fails()
	}
	m.Status, m.Counter, m.origin = 0, m.Counter+1, &d.origin
	switch {
	case sub.batch != nil:
		d.DeliveredAll(sub.gather(m, &d.Reader))
	case !sub.lossy:
		d.DeliveredAll(d.enqueueRun(sub, &m))
	}
}

// deliverBatch delivers the messages of a page to a subscription with a BatchHandler.
func (d *dispatcher) deliverBatch() {
	last := len(d.batches) - 1
	sub := d.batches[last]
	d.batches = d.batches[:last]
	if sub.batches != nil {
		d.deliverPage(sub)
		return
	}
	batch := sub.pending
	sub.pending = batch[:0]
	if d.Moved() { // as in gets
		batch = slices.DeleteFunc(batch, func(m Message) bool { return !sub.live.Contains(m.Tag) })
	}
	if len(batch) == 0 || sub.closed.Load() || d.src.sub.closed.Load() {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			d.panicked(batch[0].Tag, len(batch), v)
		}
	}()
	sub.batch(batch)
}

// panicked counts and reports a handler that has panicked.
//
//   - messages: that it was called with.
func (d *dispatcher) panicked(tag tags.Tag, messages int, v any) {
	d.src.sub.counters.Panicked()
	d.Drop(d.Reader.Lane, tag, ledger.Panic, uint64(messages), false)
	d.src.event(Event{Kind: Problem, Peer: d.src.contact.Peer, Tag: tag, Err: &PanicError{Tag: tag, Value: v, Stack: debug.Stack()}})
	d.Fails()
}

// A dispatcher is an intake.Side by the methods below.

func (d *dispatcher) Send(m subscription.Message) { d.src.out.Send(m) }
func (d *dispatcher) Waits() bool                 { return d.src.out.Waits() }
func (d *dispatcher) Report()                     { d.src.sub.reportSoon() }

func (d *dispatcher) Aim(lane uint16, tag tags.Tag) (targets []target) {
	if d.src.sub.closed.Load() {
		return nil
	}
	for r := range d.src.requests.About(lane, tag) {
		if r.Owes(tag) && !r.Sub.closed.Load() {
			targets = append(targets, target{r.Sub, r.Sub.handlerOf(tag)})
		}
	}
	return targets
}

func (d *dispatcher) Count(cause subscription.Cause, n uint64, from, to uint32) {
	d.src.sub.counters.Lose(cause, n, from, to)
}

func (d *dispatcher) Gap(to *gap, tag tags.Tag, cause subscription.Cause, n uint64) {
	if d.src.sub.gaps.Add(to, lostTag{d.src, tag}, cause, n) {
		d.src.sub.reportSoon()
	}
}

// gap is what is lost of one tag, and not told.
type gap = events.Gap[Event, lostTag]

// lostTag is what the Gap events of a tag say besides cause and number.
type lostTag struct {
	src *source
	tag tags.Tag
}

// Gap implements events.Key.
func (t lostTag) Gap(cause subscription.Cause, n uint64) Event {
	return Event{Kind: Gap, Peer: t.src.contact.Peer, Tag: t.tag, Count: n, Err: gapCauses[cause]}
}
