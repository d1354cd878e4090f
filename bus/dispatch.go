// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"runtime/debug"

	"tagbus/bus/internal/events"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// received is what a subscriber knows of one tag of one publisher.
type received struct {
	tally ledger.Tally // since the publisher was first met
	gap   events.Gap[Event, lostTag]

	version int // of the source, for which targets holds
	targets []target
}

// target is one place to deliver a tag's messages to.
type target struct {
	src     *source
	sub     *Subscription
	handler Handler // nil: the subscription's batch or queue
}

// onPage delivers the messages of a page in place: handlers see the memory into which
// the transport has read the page.
func (src *source) onPage(page []byte) {
	if err := src.reader.Reset(page); err != nil {
		src.damaged(err)
		return
	}
	done := &src.page
	*done = delivered{version: src.version}
	for more := true; more; {
		more = src.deliver(done)
	}
	for len(src.batches) > 0 {
		src.deliverBatch(done)
	}
	src.origin.Next() // the page is over
	src.countPage()
	if src.reader.Ack && src.reader.Left == 0 {
		src.acknowledge(done.failed())
	}
	src.came.add(done.messages, len(page))
	c := &src.sub.counters
	c.pages.Add(1)
	c.messages.Add(done.messages)
	c.bytes.Add(done.bytes)
	if done.unwanted > 0 {
		c.unwanted.Add(done.unwanted)
	}
	*done = delivered{}
}

// came counts what was received on a connection. Loop only.
type came struct{ messages, bytes, pages uint64 }

// add counts a page.
//
//   - messages: that are delivered.
//   - bytes: of the page.
func (c *came) add(messages uint64, bytes int) {
	c.messages += messages
	c.bytes += uint64(bytes)
	c.pages++
}

// delivered counts within a page, so that the shared counters are touched once. It
// keeps the targets that a message has not reached yet.
type delivered struct {
	messages, bytes, unwanted uint64
	counted                   uint64 // of messages and unwanted, in the lane
	failedAt                  uint64 // number in the page of the last message that was not handled
	version                   int    // of the source when the page began

	message Message
	rest    []target
}

// fails notes that the current message was not handled.
func (d *delivered) fails() { d.failedAt = d.messages + d.unwanted }

// failed reports whether the last message was not handled.
func (d *delivered) failed() bool { return d.failedAt == d.messages+d.unwanted }

func (d *delivered) deliverRest() {
	for len(d.rest) > 0 {
		t := d.rest[0]
		d.rest = d.rest[1:] // before the call, which may panic
		if t.takes(d.message.Tag, d.version) && !t.deliver(d.message) {
			d.fails()
		}
	}
}

// takes reports whether the target still gets messages of a tag. A handler called since
// the page began may have closed the subscription, or removed the tag.
func (t target) takes(tag tags.Tag, version int) bool {
	return !t.sub.closed.Load() && !t.src.sub.closed.Load() && (t.src.version == version || t.sub.live.Contains(tag))
}

// deliver reports whether the message was delivered, not lost by the subscription's
// queue.
func (t target) deliver(m Message) bool {
	switch {
	case t.handler != nil:
		t.handler(m)
	case t.sub.batch != nil:
		t.src.collect(t.sub, m)
	default:
		return t.sub.enqueue(t.src, m)
	}
	return true
}

// recovered is deferred around a handler: it reports its panic.
//
//   - messages: that the handler was called with.
func (src *source) recovered(done *delivered, tag tags.Tag, messages int) {
	if v := recover(); v != nil {
		src.panicked(done, tag, messages, v)
	}
}

// damaged ends the connection after a page that cannot be read.
func (src *source) damaged(err error) {
	if damage := (*wire.Error)(nil); errors.As(err, &damage) {
		err = (*PageError)(damage)
	}
	src.fail(err)
}

func (src *source) panicked(done *delivered, tag tags.Tag, messages int, v any) {
	src.sub.counters.panics.Add(1)
	lane := src.reader.Lane
	rcv := src.lane(lane).received.Get(tag)
	if rcv == nil {
		rcv = new(received) // the handler has ended its subscription
	}
	src.drop(Block, lane, rcv, tag, ledger.Panic, uint64(messages))
	src.event(Event{Kind: Problem, Peer: src.contact.peer, Tag: tag, Err: &PanicError{Tag: tag, Value: v, Stack: debug.Stack()}})
	done.fails()
}

// deliver delivers until the page ends or a handler panics. It returns true after a
// panic, and is called again for the rest. So a panic costs no other handler a message.
func (src *source) deliver(done *delivered) (more bool) {
	defer func() {
		if v := recover(); v != nil {
			src.panicked(done, src.reader.Tag, 1, v)
			more = true
		}
	}()
	done.deliverRest() // after a panic
	var rcv *received
	r, turn := &src.reader, src.origin.Turn()
	for {
		ok, err := r.Next()
		if err != nil {
			src.damaged(err)
			return false
		}
		if !ok {
			return false
		}
		if r.NewTag || rcv == nil {
			if rcv = src.receivedOf(r.Lane, r.Tag); rcv == nil {
				return false
			}
		}
		if rcv.version != src.version { // a handler may have changed it
			src.aim(rcv, r.Lane, r.Tag)
		}
		if r.Positions && r.Position != rcv.tally.Position+1 && !src.skip(rcv, r) {
			return false
		}
		if len(rcv.targets) == 0 {
			rcv.tally.Decline()
			done.unwanted++
			done.fails()
			continue
		}
		rcv.tally.Deliver()
		done.messages++
		done.bytes += uint64(len(r.Data))
		if len(rcv.targets) == 1 {
			t := &rcv.targets[0]
			if t.handler == nil {
				src.deliverRun(rcv, *t, done, turn)
				continue
			}
			t.handler(src.message(rcv, turn)) // not by deliver, which would copy the message again
			src.deliverPlain(rcv, t.handler, done, turn)
			continue
		}
		done.message, done.rest = src.message(rcv, turn), rcv.targets
		done.deliverRest()
	}
}

// message returns the message that was just read.
func (src *source) message(rcv *received, turn uint32) Message {
	r, origin := &src.reader, &src.origin
	if r.Request {
		origin = origin.Request(retain.ID(r.ID))
	}
	return Message{Tag: r.Tag, Status: Status(r.Status), turn: turn, Counter: rcv.tally.Position, Publisher: src.contact.peer, Data: r.Data, origin: origin}
}

// deliverPlain delivers the plain messages behind one to their only handler. It ends at
// any other message, or when the handler has changed something. It does what the loop
// in deliver does, less what is the same for all of these messages.
func (src *source) deliverPlain(rcv *received, h Handler, done *delivered, turn uint32) {
	r := &src.reader
	r.Status, r.NewTag, r.Request = 0, false, false
	m := src.message(rcv, turn)
	for rcv.version == src.version {
		data, ok := r.NextPlain()
		if !ok {
			return
		}
		rcv.tally.Deliver()
		done.messages++
		done.bytes += uint64(len(data))
		m.Counter, m.Data = rcv.tally.Position, data
		h(m)
	}
}

// skip counts the messages before one that the policy of the lane has left out. For an
// impossible position it ends the connection and returns false.
func (src *source) skip(rcv *received, r *wire.Reader) bool {
	if at := rcv.tally.Position; r.Position <= at {
		src.fail(protocolError("tag %v goes from %d back to %d", r.Tag, at, r.Position))
		return false
	}
	return src.reaches(r.Tag, r.Position) && src.lose(rcv, r.Tag, subscription.CauseLeftOut, r.Position-1-rcv.tally.Position)
}

// receivedOf returns the state of a tag in a lane, and creates it at the first mention.
// For a tag that was not asked for there it ends the connection and returns nil: a
// publisher must not make a subscriber remember any number of tags.
func (src *source) receivedOf(lane uint16, tag tags.Tag) *received {
	if int(lane) < len(src.lanes) {
		if rcv := src.lanes[lane].received.Get(tag); rcv != nil {
			return rcv
		}
	}
	src.steps += stepsPerTag + src.requests.Wide(lane)
	if src.requests.Knows(lane, tag) {
		return src.lane(lane).received.Add(tag, func(*received) {})
	}
	src.fail(protocolError("tag %v was not asked for in lane %d", tag, lane))
	return nil
}

// aim determines the targets of the messages of a tag.
func (src *source) aim(rcv *received, lane uint16, tag tags.Tag) {
	rcv.targets = nil // a new slice: the old one may be in use further up the stack
	rcv.version = src.version
	if src.sub.closed.Load() {
		return
	}
	src.steps += stepsPerTag + src.requests.Wide(lane)
	for r := range src.requests.About(lane, tag) {
		if r.Owes(tag) && !r.Sub.closed.Load() {
			rcv.targets = append(rcv.targets, target{src, r.Sub, r.Sub.handlerOf(tag)})
		}
	}
}
