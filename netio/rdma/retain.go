// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"sync"
	"sync/atomic"

	"tagbus/internal/invariants"
	"tagbus/netio"
)

// lent is a receive buffer of an endpoint's own, while its message is delivered
// or kept. It implements netio.Retained.
type lent struct {
	endpoint *endpoint
	pool     *receivePool
	slot     uint32
	data     []byte       // the message
	users    atomic.Int32 // OnData, and each Retain
	kept     bool         // it counts in loan.out; only in a step
}

// Bytes implements netio.Retained.
func (l *lent) Bytes() int { return l.pool.stride }

// Retain implements spread.Retainer.
func (l *lent) Retain() { l.users.Add(1) }

// Release implements netio.Retained.
func (l *lent) Release() {
	if l.leave() && l.pool.loan.release(l) {
		l.endpoint.Schedule(toRepost)
	}
}

// leave removes a user, and reports whether it was the last.
func (l *lent) leave() bool {
	switch left := l.users.Add(-1); {
	case left > 0:
		return false
	case left < 0:
		panic("rdma: retained memory was released twice")
	}
	if invariants.Enabled {
		invariants.Poison(l.data)
	}
	return true
}

// loan is what users keep of a pool: its memory stays until they have released
// it all.
type loan struct {
	buffers []lent // one for each slot; nil: they are shared, and not lent

	mu     sync.Mutex
	out    int // of buffers, with a message that is kept
	back   []uint32
	closed bool
}

// release takes a buffer back, and reports whether the endpoint must be scheduled to
// post it: only the first since returned was called. Threads: any.
func (l *loan) release(b *lent) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out--
	if l.closed {
		if l.out == 0 {
			_ = b.pool.free() // fails only for a region that is none
		}
		return false
	}
	l.back = append(l.back, b.slot)
	return len(l.back) == 1
}

// lend notes that the message of one more buffer is kept, if it is one of spare.
func (l *loan) lend(spare int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out >= spare {
		return false
	}
	l.out++
	return true
}

// unlend undoes lend, for a message that is not retained when OnData returns.
func (l *loan) unlend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out--
}

// returned appends to slots those that were released since the last call.
func (l *loan) returned(slots []uint32) []uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	slots = append(slots, l.back...)
	l.back = l.back[:0]
	return slots
}

// close reports whether the memory is free. If not the last release frees it.
func (l *loan) close() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.out == 0
}

// canRetain reports whether endpoints with so many buffers, less creditReceives,
// can spare one.
func canRetain(window int) bool { return spare(window) > 0 }

// spare returns how many buffers of a window may be kept for any time. The sender
// then has a credit when all other messages are consumed: credits for fewer than a
// quantum are not sent.
func spare(window int) int { return window - quantumOf(window) }

// Retain implements netio.Endpoint: the buffer is not posted again before it is
// released.
func (e *endpoint) Retain() (netio.Retained, error) {
	e.backend.CheckThread("Endpoint.Retain")
	switch l := e.delivering; {
	case !e.Capability.Retain:
		return nil, netio.ErrNotSupported
	case l == nil:
		return nil, netio.ErrNoMessage
	case !l.kept && !e.receive.loan.lend(spare(e.window)):
		return nil, netio.ErrNoResources
	default:
		l.kept = true
		l.users.Add(1)
		return l, nil
	}
}

// lend returns the buffer of a message that is going to be delivered, nil if it
// cannot be kept.
func (e *endpoint) lend(slot uint32, data []byte) *lent {
	if !e.Capability.Retain {
		return nil
	}
	l := &e.receive.loan.buffers[slot]
	l.endpoint, l.pool, l.slot, l.data, l.kept = e, e.receive, slot, data, false
	l.users.Store(1)
	e.delivering = l
	return l
}

// regain takes a buffer back after OnData, unless its message is kept.
func (e *endpoint) regain(l *lent) {
	e.delivering = nil
	if !l.leave() {
		return
	}
	if l.kept {
		l.pool.loan.unlend()
	}
	e.recycle(l.slot)
}

// repost posts what users have released.
func (e *endpoint) repost() {
	if e.state != reported {
		return
	}
	e.reposting = e.receive.loan.returned(e.reposting[:0])
	for _, slot := range e.reposting {
		e.recycle(slot)
	}
}
