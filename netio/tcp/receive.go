// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
)

// receive delivers what has been received: at the edge of readability, after
// ResumeReceive, with a buffer that was waited for, and in the turn after one in
// which the budget was used up.
func (e *endpoint) receive() {
	e.catchUp()
	if e.borrower.buffer != nil && !e.receiver.lent { // it was waited for
		e.receiver.lend(e.borrower.memory())
	}
	if e.state != reported || e.Hold() != 0 {
		if e.sendErr != nil && e.state == reported && e.Hold() == handover.Paused {
			e.endReceive(nil)
		}
		return // ResumeReceive comes back here
	}
	pool := e.borrower.pool
	if pool != nil && !e.borrow() {
		return
	}
	// An endpoint with a part of a message, for which others wait, completes the
	// message and makes way: otherwise a stream of parts would keep the buffer forever.
	makeWay := pool != nil && pool.awaited() && e.receiver.buffered() > 0
	e.receiver.oneMessage = makeWay
	if !e.deliver() { // what was read before a pause
		return
	}
	if e.secure != nil {
		e.receiveSealed(makeWay)
		return
	}
	budget := e.backend.readBudget()
	for {
		if makeWay && e.receiver.buffered() == 0 {
			e.Schedule(toRead)
			return
		}
		room, err := e.receiver.room(budget)
		if err != nil {
			e.endReceive(err)
			return
		}
		n, errno := read(e.fd, room)
		if n == 0 || errno != 0 {
			e.receivedNothing(errno)
			return
		}
		e.receiver.grown(n)
		e.backend.moved += n
		if !e.deliver() {
			return
		}
		if n < len(room) && !e.peerClosed {
			return // that was all; what comes now makes a new edge
		}
		if budget -= n; budget < leastReadBytes || e.backend.late() { // not worth a call
			e.fallBehind()
			return
		}
	}
}

// receivedNothing ends the receiving, unless there will be more to read.
//
//   - errno: of the read; 0: the stream has ended.
func (e *endpoint) receivedNothing(errno unix.Errno) {
	switch {
	case errno == 0:
		e.endOfStream()
	case errno != unix.EAGAIN:
		e.endReceive(errno)
	case e.sendErr != nil: // nothing will come to say that it is over
		e.endReceive(nil)
	}
}

// deliver makes a callback for each whole message. It returns false if no more
// may be made.
func (e *endpoint) deliver() bool {
	h := e.backend.Handler
	for {
		message, err := e.receiver.next()
		if err != nil {
			e.backend.Counters.BadMessages.Add(1)
			e.end(e.OpError("receive", e.explainBad(err)))
			return false
		}
		if message == nil {
			return true
		}
		if !e.receiver.more() {
			e.countReceived()
		}
		e.deliverOne(h, message)
		if e.queue.HasRefusals() {
			// A handler that answers message for message would be refused for the
			// rest of what was read, though the system would take the answers.
			e.flush()
		}
		if e.Hold() != 0 {
			return false
		}
		if e.backend.handled(len(message)) && e.receiver.more() {
			e.fallBehind()
			return false
		}
	}
}

// deliverOne makes the callback for a message.
func (e *endpoint) deliverOne(h netio.Handler, message []byte) {
	e.delivering, e.retained = true, false
	h.OnData(e, message)
	e.delivering = false
	if invariants.Enabled && !e.retained {
		invariants.Poison(message)
	}
}

// Retain implements netio.Endpoint.
func (e *endpoint) Retain() (netio.Retained, error) {
	e.backend.CheckThread("Endpoint.Retain")
	switch {
	case !e.Capability.Retain:
		return nil, netio.ErrNotSupported
	case !e.delivering:
		return nil, netio.ErrNoMessage
	}
	e.retained = true
	return e.receiver.retain(), nil
}

// countReceived adds to the statistics of the backend, once for all messages of
// a read, but before the last is delivered: its handler finds it counted.
func (e *endpoint) countReceived() {
	r := &e.receiver
	if r.messages > 0 {
		e.backend.Counters.MessagesReceived.Add(r.messages)
		e.backend.Counters.BytesReceived.Add(r.bytes)
		r.messages, r.bytes = 0, 0
	}
}

// failUnread decides what becomes of what was received and not delivered when
// the connection has failed. That of a paused endpoint is lost, as is what was
// under way: waiting for the user would not help. One that waits for a buffer
// goes on waiting for a while.
func (e *endpoint) failUnread() {
	switch hold := e.Hold(); {
	case e.state != reported:
	case hold == handover.Paused:
		e.endReceive(socketError(e.fd))
	case hold == 0 && e.borrower.waits:
		e.breakWaiting()
	}
}

// endOfStream ends the endpoint because the peer has closed.
func (e *endpoint) endOfStream() {
	partial := e.countTruncated()
	e.learnFailure()
	switch {
	case e.sendErr != nil && (partial || !errors.Is(e.sendErr, unix.EPIPE)):
		e.end(e.sendErr)
	case partial:
		e.end(e.OpError("receive", netio.ErrTruncated))
	default: // also if we were still sending: EPIPE
		e.end(io.EOF)
	}
}

// endReceive ends the endpoint because reading has failed, or sending, before.
func (e *endpoint) endReceive(err error) {
	e.countTruncated()
	e.learnFailure()
	if e.sendErr != nil {
		e.end(e.sendErr)
		return
	}
	e.end(e.OpError("receive", err))
}

// learnFailure looks whether a sender was told why the connection has failed: then the
// system may not tell it the loop.
func (e *endpoint) learnFailure() {
	if errno := e.queue.failure(); errno != 0 && e.sendErr == nil {
		e.sendErr = e.OpError("send", errno)
	}
}

// countTruncated reports whether a message has come only in part, and counts it.
func (e *endpoint) countTruncated() bool {
	partial := e.receiver.buffered() > 0
	if partial {
		e.backend.Counters.Truncated.Add(1)
	}
	return partial
}
