package tcp

import (
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/invariants"
)

const (
	// writeBudget is what an endpoint sends before the others get their turn.
	writeBudget = 1 << 20

	// writeCallBytes is what a call counts at least: who sends a few bytes in
	// each completion would keep the loop for a million of them.
	writeCallBytes = 16 << 10

	// sendRetry is the pause after which a send is tried again for which the
	// system had no memory.
	sendRetry = 5 * time.Millisecond
)

// flush hands what is in the queue to the system, and reports what it has
// taken: after a send, when the socket becomes writable, and in the turn after
// one in which the budget was used up.
func (e *endpoint) flush() {
	q := &e.queue
	b := e.backend
	if e.state != reported || !e.complete() {
		return
	}
	for budget := writeBudget; !e.blocked; {
		tail := q.take()
		if q.sent == tail {
			return
		}
		q.gather(&b.sender, tail)
		offered := b.sender.bytes
		n, errno := b.sender.send(e.fd)
		if errno != 0 {
			e.sendFailed(errno)
			return
		}
		// A short write is followed by an edge when there is room again.
		e.blocked = n < offered
		messages, bytes := q.advance(n)
		b.Counters.MessagesSent.Add(uint64(messages))
		b.Counters.BytesSent.Add(uint64(bytes))
		b.moved += n
		if !e.complete() {
			return
		}
		if budget -= max(n, writeCallBytes); budget <= 0 {
			e.leave(toFlush)
			return
		}
	}
}

// sendFailed decides what an error of the system means.
func (e *endpoint) sendFailed(errno unix.Errno) {
	e.blocked = true
	switch errno {
	case unix.EAGAIN:
	case unix.ENOBUFS, unix.ENOMEM:
		e.retry.F = func() {
			e.blocked = false
			e.leave(toFlush)
		}
		e.backend.Alarms.Set(&e.retry, sendRetry)
	default:
		// What the peer has sent before it went away comes first.
		e.sendErr = e.opError("send", errno)
		e.peerClosed = true
		e.leave(toRead)
	}
}

// complete reports the messages that the system has taken. It returns false if
// the endpoint is closed.
func (e *endpoint) complete() bool {
	q := &e.queue
	h := e.backend.Handler
	for i := q.head.Load(); i != q.sent; i++ {
		if e.hold.Load()&closed != 0 {
			return false
		}
		h.OnSendCompleted(netio.Completion{Endpoint: e, Key: e.finish(i)})
	}
	if q.noPlace.Count() > 0 || e.noBuffer.Count() > 0 {
		e.ready()
	}
	return e.hold.Load()&closed == 0
}

// answersPerTurn bounds the calls of OnSendReady in a row: a goroutine that
// tries again and again collects millions of refusals.
const answersPerTurn = 64

// finish empties entry i, which is the head of the queue, and returns its key.
func (e *endpoint) finish(i uint64) netio.Key {
	if invariants.Enabled {
		e.checkMemory(i)
	}
	return e.queue.finish(i)
}

// ready answers refusals for want of a place in the queue or of a buffer of its
// own, each only while there is one: a call takes what the call before has left.
// Those of the calls themselves have to wait for the next turn, or a user who
// asks for too much in each would keep the loop.
func (e *endpoint) ready() {
	own := e.backend.shared == nil
	for n := min(answersPerTurn, e.queue.noPlace.Count()+e.noBuffer.Count()); n > 0; n-- {
		buffer := own && e.noBuffer.Count() > 0 && e.pool.Free() > 0 && e.noBuffer.Withdraw()
		place := !buffer && e.queue.noPlace.Count() > 0 && e.queue.hasPlace() && e.queue.noPlace.Withdraw()
		if !buffer && !place || e.hold.Load()&closed != 0 {
			return // a completion comes back here, or offer does
		}
		e.backend.Handler.OnSendReady(e)
	}
	if e.queue.noPlace.Count() > 0 || own && e.noBuffer.Count() > 0 {
		e.leave(toOffer)
	}
}

// offer answers refusals apart from completions: after a refusal, and when a
// buffer has come back.
func (e *endpoint) offer() {
	if e.state != reported {
		return
	}
	e.ready()
	if e.hold.Load()&closed != 0 || e.noBuffer.Count() == 0 {
		if s := e.backend.shared; s != nil {
			s.welcome(e) // the buffer is another's, or was found without us
		}
		return
	}
	if s := e.backend.shared; s != nil {
		e.offerShared(s)
	} else if e.pool.AwaitFree() {
		e.leave(toOffer)
	}
}

// offerShared answers one refusal if it is this endpoint's turn.
func (e *endpoint) offerShared(s *sharedSend) {
	if s.welcome(e) && e.noBuffer.Withdraw() {
		e.backend.Handler.OnSendReady(e)
	}
	if e.noBuffer.Count() > 0 && e.hold.Load()&closed == 0 {
		s.wait(e)
	}
}
