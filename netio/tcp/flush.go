// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

const (
	// writeBudget is what an endpoint sends before the others get their turn.
	writeBudget = 1 << 20

	// writeCallBytes is the minimum charge for a call: otherwise tiny sends from
	// completions could occupy the loop for a million of them.
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
	if e.secure != nil {
		e.flushSealed()
		return
	}
	for budget := writeBudget; !e.blocked; {
		tail, failed := q.take()
		if failed != 0 {
			e.sendFailed(failed)
			return
		}
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
			e.Schedule(toFlush)
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
			e.Schedule(toFlush)
		}
		e.backend.Alarms.Set(&e.retry, sendRetry)
	default:
		// What the peer has sent before it went away comes first.
		e.sendErr = e.OpError("send", errno)
		e.peerClosed = true
		e.Schedule(toRead)
	}
}

// complete reports the messages that the system has taken. It returns false if
// the endpoint is closed.
func (e *endpoint) complete() bool {
	q := &e.queue
	h := e.backend.Handler
	for i := q.Head.Load(); i != q.sent; i++ {
		if e.IsClosed() {
			return false
		}
		h.OnSendCompleted(netio.Completion{Endpoint: e, Key: e.finish(i)})
	}
	return e.Completed()
}

// finish empties entry i, which is the head of the queue, and returns its key.
func (e *endpoint) finish(i uint64) netio.Key {
	e.checkMemory(i)
	sent := e.queue.at(i)
	done := sent.Entry
	sent.empty()
	return e.queue.Finish(i, done)
}
