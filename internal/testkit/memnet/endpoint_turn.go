// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"tagbus/internal/invariants"
	"tagbus/netio"
)

func (e *endpoint) mark() *taskMark { return &e.taskMark }

// turn makes the callbacks for what has changed, on the loop.
func (e *endpoint) turn() {
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	if e.ended {
		return
	}
	e.announce()
	e.receive()
	e.transmit()
	e.reportReady()
	e.finish()
}

// stopped reports whether the endpoint only waits for its end, or for nothing at
// all because its process was killed. It needs the network's mutex, as all
// below.
func (e *endpoint) stopped() bool {
	if e.reset != nil && e.cause == nil && !e.cutOff() {
		e.cause = e.reset
	}
	return e.closed || e.ended || e.cause != nil || e.b.killed
}

// cutOff reports whether nothing, not even a reset, arrives from the peer.
func (e *endpoint) cutOff() bool { return covered(e.b.net.partitions, e.remote, e.local) }

// fail breaks the connection as seen from e.
func (e *endpoint) fail() {
	if e.reset == nil {
		e.reset = &netio.OpError{Op: "receive", Addr: e.remote, Err: syscall.ECONNRESET}
	}
	e.peer.out.clear()
	e.b.schedule(e)
}

func (e *endpoint) announce() {
	if e.announced || e.closed || e.b.killed {
		return
	}
	e.announced = true
	if e.ln != nil {
		e.b.stats.Accepted++
	} else {
		e.b.stats.Opened++
	}
	e.b.notify(e.event(Established), func(h netio.Handler) { h.OnConnectionEstablished(e) })
}

func (e *endpoint) event(k EventKind) Event { return Event{Kind: k, Local: e.local, Remote: e.remote} }

// receive takes what has arrived. If it needs no buffer for more, it does not
// wait for one any longer.
func (e *endpoint) receive() {
	if !e.take() {
		e.receiving.leave(e)
	}
	e.receiving.expire(e)
}

// take takes what has arrived, unless e is paused, and reports whether it waits
// for a buffer. The end of the connection is seen even without both, if nothing
// is unread before it.
func (e *endpoint) take() (waits bool) {
	in := &e.peer.out
	for messages := 0; !e.stopped() && len(in.chunks) > 0 && !in.gated(); {
		first := in.chunks[0]
		if e.paused && !first.fin {
			return false
		}
		if first.due.After(time.Now()) {
			e.b.wakeAt(e, first.due)
			return false
		}
		if messages == turnBudget {
			e.b.schedule(e)
			return false
		}
		if !first.fin && !e.receiving.take(e) {
			return true
		}
		if c := in.take(); c.fin {
			e.peerEnded()
		} else if e.assemble(c) {
			messages++
			e.deliver()
		}
	}
	return false
}

func (e *endpoint) peerEnded() {
	e.cause = io.EOF
	if e.inBytes > 0 {
		e.b.stats.Truncated++
		e.cause = &netio.OpError{Op: "receive", Addr: e.remote, Err: netio.ErrTruncated}
	}
}

// assemble adds a piece to the message being received and reports whether it is
// whole now.
func (e *endpoint) assemble(c chunk) bool {
	e.peer.b.schedule(e.peer) // the window has room
	if c.size > 0 {
		limit := e.params.Receive.MaxMessageBytes
		if e.received == 0 {
			limit = e.params.Receive.FirstMessageBytes
		}
		if c.size > limit {
			e.b.stats.BadMessages++
			e.cause = &netio.OpError{
				Op:   "receive",
				Addr: e.remote,
				Err:  fmt.Errorf("%w: %d bytes, limit %d", netio.ErrMessageLength, c.size, limit),
			}
			return false
		}
		e.inBytes = c.size
		e.in = make([]byte, 0, c.size)
	}
	e.in = append(e.in, c.data...)
	e.progress = time.Now()
	return len(e.in) == e.inBytes
}

func (e *endpoint) deliver() {
	defer e.receiving.put(e) // even if OnData panics
	data := e.in
	e.in, e.inBytes = nil, 0
	e.received++
	e.b.stats.MessagesReceived++
	e.b.stats.BytesReceived += uint64(len(data))
	way := direction{e.remote, e.local}
	t := e.b.net.traffic[way]
	e.b.net.traffic[way] = Traffic{t.Messages + 1, t.Bytes + uint64(len(data))}
	event := e.event(Delivered)
	event.Data = data
	e.b.notify(event, func(h netio.Handler) {
		e.delivering, e.retained = data, nil
		defer e.delivered() // even if OnData panics
		h.OnData(e, data)
	})
}

// delivered ends OnData. Loop only.
func (e *endpoint) delivered() {
	if e.retained != nil {
		e.retained.Release()
	} else {
		invariants.Poison(e.delivering)
	}
	e.delivering = nil
}

// transmit moves sends into the window and reports those that are in it whole.
func (e *endpoint) transmit() {
	for range turnBudget {
		if e.stopped() || len(e.sends) == 0 {
			return
		}
		s := e.sends[0]
		if e.out.push(s, s.size) > 0 {
			e.peer.b.schedule(e.peer)
		}
		if e.peer.ended && e.paused && !e.cutOff() {
			// The peer answers with a reset, and that is all that a paused
			// endpoint, with data unread, can learn of its end.
			e.fail()
			return
		}
		if s.taken < s.size {
			return // the receiver schedules e when it has taken something
		}
		e.complete(s)
	}
	e.b.schedule(e)
}

func (e *endpoint) complete(s *send) {
	e.sends = e.sends[1:]
	e.b.stats.MessagesSent++
	e.b.stats.BytesSent += uint64(s.size)
	if s.changed() {
		e.b.net.violations = append(e.b.net.violations, fmt.Sprintf(
			"the memory of the send with key %d from %v to %v (%d bytes) was changed before its completion",
			s.key, e.local, e.remote, s.size))
	}
	if s.buf != nil {
		e.b.unlocked(s.buf.ReleaseSent)
	}
	e.b.notify(e.event(Completed), func(h netio.Handler) {
		h.OnSendCompleted(netio.Completion{Endpoint: e, Key: s.key})
	})
}

// reportReady answers each refused send once there is a place for it; sendBuffers
// answers those who found no buffer.
func (e *endpoint) reportReady() {
	for !e.stopped() && e.refusedSends > 0 && !e.full() {
		e.refusedSends--
		e.b.unlocked(func() { e.b.h.OnSendReady(e) })
	}
}

// finish ends the endpoint if it is to end.
func (e *endpoint) finish() {
	if e.ended || !e.stopped() || (e.b.killed && !e.closed) {
		return
	}
	e.ended = true
	cause := e.cause
	if e.closed {
		cause = nil
	}
	sends := e.sends
	e.sends = nil
	e.in, e.inBytes = nil, 0
	e.receiving.leave(e)
	e.receiving.put(e)
	e.peer.out.clear()
	if e.reset == nil && !e.b.killed {
		e.out.end()
		e.peer.b.schedule(e.peer)
	}
	e.b.endpoints = slices.DeleteFunc(e.b.endpoints, func(x *endpoint) bool { return x == e })
	e.b.net.endpoints = slices.DeleteFunc(e.b.net.endpoints, func(x *endpoint) bool { return x == e })
	keys := make([]netio.Key, 0, len(sends))
	for _, s := range sends {
		keys = append(keys, s.key)
		if s.buf != nil {
			e.b.unlocked(s.buf.ReleaseSent)
		}
	}
	e.retireBuffers()
	if !e.announced {
		return
	}
	e.b.stats.Closed++
	event := e.event(Closed)
	event.Err = cause
	e.b.notify(event, func(h netio.Handler) {
		h.OnConnectionClosed(e, keys, cause)
		// Valid until return, as poison says.
		for i := range keys {
			keys[i] = ^netio.Key(0)
		}
	})
}

// retireBuffers frees the endpoint's own send buffers, when the user has
// released the last one.
func (e *endpoint) retireBuffers() {
	if e.buffers != nil && !e.buffers.shared {
		e.buffers.pool.Retire()
	}
}
