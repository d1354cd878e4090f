// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"bytes"
	"fmt"

	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

// Kinds of requests.
const (
	kindSend uint8 = iota + 1
	kindCredit
	kindReceive
	kindLetter // of a hub
)

// contextOf returns the context of a request:
//
//	bits 56 to 63  kind
//	bits 32 to 55  generation: the last bits of the endpoint's number
//	bits 0 to 31   slot: the last bits of the number of the send, or the buffer
func contextOf(kind uint8, number uint64, slot uint32) uint64 {
	return uint64(kind)<<56 | number&(1<<24-1)<<32 | uint64(slot)
}

func (e *endpoint) contextOf(kind uint8, slot uint32) uint64 { return contextOf(kind, e.number, slot) }

func kindOf(context uint64) uint8 { return uint8(context >> 56) }

// held is a message that has come and cannot be delivered yet.
type held struct {
	slot uint32
	data []byte
	copy bool // data is of the heap, and the buffer is posted again
}

// receiving is what an endpoint needs to receive.
type receiving struct {
	receive    *receivePool
	window     int // that the other side was given
	ownQuantum int // credits of an empty message to there
	owed       int // messages consumed whose credits were not sent
	held       []held
	delivering *lent    // of the message that OnData is called with, nil: none that can be kept
	notFirst   bool     // a message has come
	unposted   []uint32 // buffers that could not be posted
	reposting  []uint32 // memory for repost
}

// serve handles what the last crossing has read from the queue of e, from
// crossing.next on.
func (e *endpoint) serve(d *fi.Drain) {
	c := &e.backend.crossing
	through := false
	defer e.tidy(&through)
	for c.next < c.end {
		done := &c.ring.Completed[c.next]
		c.next++
		e.completed(done)
	}
	e.drained(d)
	through = true
}

// completed handles a completion.
func (e *endpoint) completed(done *fi.Completed) {
	slot := uint32(done.Context)
	kind := kindOf(done.Context)
	if kind != kindReceive && done.Context != e.contextOf(kind, slot) {
		return // of an endpoint that has ended
	}
	switch {
	case done.Err() != 0:
		e.failed(kind, slot, done.Err())
	case e.state != reported: // ended: only what is shared matters
		if kind == kindReceive {
			e.giveBack(slot)
		}
	case kind == kindSend:
		e.sent(slot)
	case kind == kindReceive && done.Len() == 0:
		e.credits += e.quantum
		e.giveBack(slot)
	case kind == kindReceive:
		e.received(slot, e.receive.message(slot, done.Len()))
	}
}

// failed handles a request that was not carried out.
func (e *endpoint) failed(kind uint8, slot uint32, err fi.Errno) {
	if kind == kindReceive && e.receive.srx != nil {
		e.giveBack(slot)
	}
	switch {
	case err == fi.ECANCELED || e.state != reported: // the rest of a connection that has ended
	case kind == kindReceive && err == fi.ETRUNC:
		e.backend.Counters.BadMessages.Add(1)
		e.breakDown("receive", netio.ErrMessageLength)
	case kind == kindReceive:
		e.breakDown("receive", err)
	default:
		e.breakDown("send", err)
	}
}

// received handles a message. Without connection the slot means nothing.
func (e *endpoint) received(slot uint32, data []byte) {
	n := len(data)
	e.backend.crossing.moved += n
	if !e.notFirst {
		e.notFirst = true
		if n > e.params.Receive.FirstMessageBytes {
			e.backend.Counters.BadMessages.Add(1)
			err := fmt.Errorf("%w: %d bytes, want 1 to %d", netio.ErrMessageLength, n, e.params.Receive.FirstMessageBytes)
			e.giveBack(slot)
			e.end(e.OpError("receive", err))
			return
		}
	}
	switch {
	case e.IsClosed():
		e.giveBack(slot)
	case e.Hold() == 0 && len(e.held) == 0:
		e.deliver(slot, data, e.hub != nil)
	case e.hub == nil && e.receive.srx != nil && len(e.held) >= e.window: // what it was not given credit for
		e.giveBack(slot)
		if e.broken == nil {
			e.backend.Counters.BadMessages.Add(1)
			e.breakDown("receive", ErrIncompatible)
		}
	case e.hub != nil || e.receive.srx != nil:
		e.held = append(e.held, held{data: bytes.Clone(data), copy: true})
		e.giveBack(slot)
	default:
		e.held = append(e.held, held{slot: slot, data: data})
	}
}

// deliver makes the callback for a message, and gives its buffer back.
func (e *endpoint) deliver(slot uint32, data []byte, copied bool) {
	b := e.backend
	b.Counters.MessagesReceived.Add(1)
	b.Counters.BytesReceived.Add(uint64(len(data)))
	// Also if the callback panics. The buffer is posted at the end of the step at
	// the earliest.
	if l := e.lend(slot, data); l != nil {
		defer e.regain(l)
	} else {
		defer e.consumed(slot, data, copied)
	}
	b.Handler.OnData(e, data)
}

// consumed ends the life of a message that cannot be kept.
func (e *endpoint) consumed(slot uint32, data []byte, copied bool) {
	if invariants.Enabled {
		invariants.Poison(data)
	}
	if copied {
		e.credit()
	} else {
		e.recycle(slot)
	}
}

// recycle gives a buffer back whose message was consumed.
func (e *endpoint) recycle(slot uint32) {
	e.giveBack(slot)
	e.credit()
}

// credit counts a message that was consumed.
func (e *endpoint) credit() {
	e.owed++
	e.giveCredits()
}

// giveCredits sends the credits for consumed messages.
func (e *endpoint) giveCredits() {
	if e.hub != nil {
		e.sendCredits()
		return
	}
	for ; e.owed >= e.ownQuantum && e.state == reported && !e.stuck; e.owed -= e.ownQuantum {
		op := e.backend.op(e)
		op.EP, op.Context, op.Kind, op.Count = e.handle, e.contextOf(kindCredit, 0), fi.Send, 0
		op.Flags = fi.Completion | fi.Inject
		e.backend.look(e)
	}
}

// giveBack posts a buffer again, unless it is that of a hub.
func (e *endpoint) giveBack(slot uint32) {
	if e.hub != nil {
		return
	}
	if e.receive.srx != nil {
		e.receive.post(slot)
	} else if e.state != ended {
		e.postReceive(slot)
	}
}

// postReceive posts a buffer of the endpoint's own.
func (e *endpoint) postReceive(slot uint32) {
	e.receive.fillOp(e.backend.op(e), e.handle, e.contextOf(kindReceive, slot), slot)
}

// deliverHeld delivers what has come during a pause.
func (e *endpoint) deliverHeld() {
	e.deliverEarly()
	for len(e.held) > 0 && e.Hold() == 0 && e.state == reported {
		m := e.held[0]
		e.held[0] = held{}
		if e.held = e.held[1:]; len(e.held) == 0 {
			e.held = nil
		}
		e.deliver(m.slot, m.data, m.copy)
	}
	e.tryEnd()
}

// drained ends the handling of what was read from the queue.
func (e *endpoint) drained(d *fi.Drain) {
	if e.state != reported {
		return
	}
	e.complete()
	e.flush()
	if err := d.Err(); err != 0 {
		e.breakDown("read completions", err)
		e.tryEnd()
		return
	}
	e.backend.lookAgain(e, d)
	if e.peerGone && d.Armed() {
		e.allRead = true
		e.tryEnd()
	}
}
