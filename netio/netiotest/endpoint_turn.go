package netiotest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"tagbus/netio"
)

// poison overwrites data that OnData has returned from.
const poison = 0xDB

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

// stopped tells whether the endpoint only waits for its end, or for nothing at
// all because its process was killed. It needs the network's mutex, as all
// below.
func (e *endpoint) stopped() bool {
	if e.reset != nil && e.cause == nil && !e.cutOff() {
		e.cause = e.reset
	}
	return e.closed || e.ended || e.cause != nil || e.b.killed
}

// cutOff tells whether nothing, not even a reset, arrives from the peer.
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

// receive takes what has arrived, unless e is paused. The end of the
// connection is seen even then, if nothing is unread before it.
func (e *endpoint) receive() {
	in := &e.peer.out
	for messages := 0; !e.stopped() && len(in.chunks) > 0 && !in.gated(); {
		first := in.chunks[0]
		if e.paused && !first.fin {
			return
		}
		if first.due.After(time.Now()) {
			e.b.wakeAt(e, first.due)
			return
		}
		if messages == turnBudget {
			e.b.schedule(e)
			return
		}
		if c := in.take(); c.fin {
			e.peerEnded()
		} else if e.assemble(c) {
			messages++
			e.deliver()
		}
	}
}

func (e *endpoint) peerEnded() {
	e.cause = io.EOF
	if e.inBytes > 0 {
		e.b.stats.Truncated++
		e.cause = &netio.OpError{Op: "receive", Addr: e.remote, Err: netio.ErrTruncated}
	}
}

// assemble adds a piece to the message being received and tells whether it is
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
	return len(e.in) == e.inBytes
}

func (e *endpoint) deliver() {
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
		h.OnData(e, data)
		for i := range data {
			data[i] = poison
		}
	})
}

// transmit moves sends into the window and reports those that are in it whole.
func (e *endpoint) transmit() {
	for range turnBudget {
		if e.stopped() || len(e.sends) == 0 {
			return
		}
		s := e.sends[0]
		if e.out.push(s) > 0 {
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
		s.buf.ReleaseSent()
	}
	e.b.notify(e.event(Completed), func(h netio.Handler) {
		h.OnSendCompleted(netio.Completion{Endpoint: e, Key: s.key})
	})
}

// reportReady answers each ErrNoResources once there is something to be had.
func (e *endpoint) reportReady() {
	ready := func(h netio.Handler) { h.OnSendReady(e) }
	for !e.stopped() && e.refusedSends > 0 && len(e.sends) < e.params.ZeroCopy.Outstanding {
		e.refusedSends--
		e.b.unlocked(func() { ready(e.b.h) })
	}
	for !e.stopped() && e.refusedBuffers > 0 && e.pool.Free() > 0 {
		e.refusedBuffers--
		e.b.unlocked(func() { ready(e.b.h) })
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
	keys := make([]netio.Key, 0, len(e.sends))
	for _, s := range e.sends {
		keys = append(keys, s.key)
		if s.buf != nil {
			s.buf.ReleaseSent()
		}
	}
	e.sends = nil
	e.peer.out.clear()
	if e.reset == nil && !e.b.killed {
		e.out.end()
		e.peer.b.schedule(e.peer)
	}
	e.b.endpoints = slices.DeleteFunc(e.b.endpoints, func(x *endpoint) bool { return x == e })
	e.b.net.endpoints = slices.DeleteFunc(e.b.net.endpoints, func(x *endpoint) bool { return x == e })
	if !e.announced {
		e.closePool()
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
	e.closePool()
}

// closePool frees the buffers. Those that the user has not released keep the
// memory of all: it stays until the process ends, as the user may write there.
func (e *endpoint) closePool() {
	if e.pool != nil && e.pool.Free() == e.pool.Buffers() {
		// Fails only for a region that is not one.
		if err := e.pool.Close(); err != nil {
			panic(errors.Join(errors.New("netiotest: close the pool of an endpoint"), err))
		}
	}
}
