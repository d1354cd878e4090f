// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"net/netip"
	"sync/atomic"

	"tagbus/netio"
)

// Work that an endpoint schedules for the end of the turn. A backend adds bits of its
// own, from ToOwn on.
const (
	ToRead uint32 = 1 << iota
	ToFlush
	ToAnswer // refusals
	ToEnd
	ToOwn
)

// Reasons not to call the handler with data, bits of Hold.
const (
	Paused uint32 = 1 << iota
	Closed
	Suspended // the user has yet to see what the handler was given
)

// Endpoint is the part of an endpoint that takes calls from any goroutine and
// schedules work for the loop. It implements some of netio.Endpoint for the endpoint
// that embeds it.
type Endpoint struct {
	Capability netio.Capabilities
	Pool       *netio.Pool // nil: does not send buffered
	NoBuffer   Refusals
	backend    *Backend
	self       netio.Endpoint
	worker     Worker
	queue      *Queue
	remote     netip.AddrPort
	ahead      int64 // AheadBytes
	scheduled  atomic.Uint32
	hold       atomic.Uint32

	// Only in a step.
	LocalAddr netip.AddrPort
	Fault     error // why ToEnd is scheduled; nil: Close
	context   any
	invited   bool // to take a shared send buffer
}

// Self is an endpoint that embeds Endpoint.
type Self interface {
	netio.Endpoint
	Worker
}

// Init prepares e, a part of self whose queue is q. Errors: the system's (no memory
// for the buffers).
func (e *Endpoint) Init(b *Backend, self Self, q *Queue, remote netip.AddrPort, p *netio.Params) error {
	e.backend, e.self, e.worker, e.queue = b, self, self, q
	e.remote, e.context = remote, p.Context
	if e.ahead = -1; p.Receive.Buffers > 0 {
		e.ahead = int64(p.Receive.Buffers-1) * int64(p.Receive.MaxMessageBytes)
	}
	e.Pool = b.SharedPool()
	if e.Pool == nil && p.Buffered.Buffers > 0 {
		pool, err := netio.NewPool(p.Buffered.Buffers, p.Buffered.BufferBytes)
		if err != nil {
			return err
		}
		pool.OnFree(func() { e.Schedule(ToAnswer) })
		e.Pool = pool
	}
	e.Capability.Receive = true
	e.Capability.Buffered = e.Pool != nil
	q.Init(b, p)
	return nil
}

// Local implements netio.Endpoint.
func (e *Endpoint) Local() netip.AddrPort { return e.LocalAddr }

// Backend implements netio.Endpoint.
func (e *Endpoint) Backend() string { return e.backend.transport.Name() }

// Remote implements netio.Endpoint.
func (e *Endpoint) Remote() netip.AddrPort { return e.remote }

// Capabilities implements netio.Endpoint.
func (e *Endpoint) Capabilities() netio.Capabilities { return e.Capability }

// Context implements netio.Endpoint.
func (e *Endpoint) Context() any { return e.context }

// SetContext implements netio.Endpoint.
func (e *Endpoint) SetContext(v any) { e.context = v }

// Buffer implements netio.Endpoint.
func (e *Endpoint) Buffer() (*netio.Buffer, error) {
	e.backend.CheckThread("Endpoint.Buffer")
	if e.Pool == nil {
		return nil, netio.ErrNotSupported
	}
	if e.IsClosed() {
		return nil, netio.ErrClosed
	}
	if b := e.takeBuffer(); b != nil {
		return b, nil
	}
	e.NoBuffer.Add()
	if b := e.takeBuffer(); b != nil {
		if e.NoBuffer.Withdraw() {
			return b, nil
		}
		b.Release()
	}
	if e.IsClosed() {
		return nil, netio.ErrClosed
	}
	e.Schedule(ToAnswer)
	return nil, netio.ErrNoResources
}

// takeBuffer returns a send buffer, or nil if this endpoint gets none now.
func (e *Endpoint) takeBuffer() *netio.Buffer {
	if s := e.backend.shared; s != nil {
		return s.take()
	}
	return e.Pool.Get()
}

// FinishSend ends a call that sends. wake and err come from Queue.Commit, or from what
// has refused the send.
func (e *Endpoint) FinishSend(wake bool, err error) error {
	if wake && e.scheduled.Or(ToFlush) == 0 { // Schedule, in a form that is cheap to inline
		e.backend.Enqueue(e.worker)
	}
	return err
}

// Room implements netio.Endpoint.
func (e *Endpoint) Room() (r netio.Room) {
	e.backend.CheckThread("Endpoint.Room")
	if e.Pool != nil {
		r.Buffers, r.MinBuffers = e.Pool.Free(), e.Pool.MinFree()
	}
	r.Sends, r.MinSends = e.queue.room()
	return r
}

// PauseReceive implements netio.Endpoint.
func (e *Endpoint) PauseReceive() {
	e.backend.CheckThread("Endpoint.PauseReceive")
	e.hold.Or(Paused)
}

// ResumeReceive implements netio.Endpoint.
func (e *Endpoint) ResumeReceive() {
	e.backend.CheckThread("Endpoint.ResumeReceive")
	if e.hold.And(^Paused)&Paused != 0 {
		e.Schedule(ToRead)
	}
}

// Suspend stops the delivery of messages until Resume. It acts like a slow handler:
// unlike a pause of the user it loses nothing when the connection fails. Threads: any.
func (e *Endpoint) Suspend() { e.hold.Or(Suspended) }

// Resume ends Suspend. Threads: any.
func (e *Endpoint) Resume() {
	if e.hold.And(^Suspended)&Suspended != 0 {
		e.Schedule(ToRead)
	}
}

// AheadBytes implements spread.Inner: the buffers of the user, less that of the message which the handler has.
func (e *Endpoint) AheadBytes() int64 { return e.ahead }

// Close implements netio.Endpoint.
func (e *Endpoint) Close() error {
	e.backend.CheckThread("Endpoint.Close")
	if !e.Shut() {
		return netio.ErrClosed
	}
	e.Schedule(ToEnd)
	return nil
}

// Hold returns the reasons not to call the handler with data. Threads: any.
func (e *Endpoint) Hold() uint32 { return e.hold.Load() }

// IsClosed reports whether Shut was called. Threads: any.
func (e *Endpoint) IsClosed() bool { return e.hold.Load()&Closed != 0 }

// Shut refuses sends and stops the delivery of messages. It reports whether this is
// the first call. Threads: any.
func (e *Endpoint) Shut() (first bool) {
	first = e.hold.Or(Closed)&Closed == 0
	e.queue.Close()
	return first
}

// Schedule leaves work, one or several bits, to the end of the loop's turn. Threads:
// any.
func (e *Endpoint) Schedule(work uint32) {
	if e.scheduled.Or(work) == 0 {
		e.backend.Enqueue(e.worker)
	}
}

// ScheduleHere leaves work to the rest of this turn, and wakes nothing. Threads: the loop, before
// Worklist.Refill.
func (e *Endpoint) ScheduleHere(work uint32) {
	if e.scheduled.Or(work) == 0 {
		_ = e.backend.List.Put(e.worker)
	}
}

// TakeWork returns the work scheduled since the last call. Threads: the loop.
func (e *Endpoint) TakeWork() uint32 { return e.scheduled.Swap(0) }
