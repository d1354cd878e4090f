// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"math"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// ScratchBytes is the size of the memory into which all endpoints read.
const ScratchBytes = scratchBytes

// SameHost reports whether a peer is on this host.
var SameHost = sameHost

// SetOptions sets the options of a socket.
var SetOptions = setOptions

// Receiver is a receiver without a socket.
type Receiver struct {
	r       receiver
	memory  memory
	scratch scratch
	lent    []byte // nil: receives into memory

	Budget      int // of each read; 0: as much as there is room for
	LongestRead int // bytes that a read could have taken

	// OneMessage tells at each read of lent memory whether others wait for it.
	OneMessage func() bool
}

// NewReceiver returns a Receiver; p has no defaults.
func NewReceiver(p netio.ReceiveParams) (*Receiver, error) {
	r := &Receiver{}
	var err error
	if r.scratch.block, err = r.memory.get(scratchBytes); err != nil {
		return nil, err
	}
	r.r.init(&r.memory, &r.scratch, p)
	return r, nil
}

// NewLentReceiver returns a Receiver that receives into memory that it is lent,
// as from a pool with buffers for messages of up to p.MaxMessageBytes.
func NewLentReceiver(p netio.ReceiveParams) (*Receiver, error) {
	r, err := NewReceiver(p)
	if err == nil {
		r.lent = make([]byte, max(lengthBytes+p.MaxMessageBytes, minReceiveBytes))
	}
	return r, err
}

// Turn is the turn of an endpoint whose socket holds data: it reads all of it,
// calls deliver for each message, and parks.
func (r *Receiver) Turn(data []byte, deliver func([]byte)) error {
	for {
		for {
			more := r.r.buf != nil && r.r.more()
			message, err := r.r.next()
			if err != nil {
				return err
			}
			if (message != nil) != more {
				panic("more and next do not agree")
			}
			if message == nil {
				break
			}
			deliver(message)
		}
		if len(data) == 0 {
			return r.park()
		}
		r.lend()
		budget := r.Budget
		if budget == 0 {
			budget = mostReadBudget
		}
		room, err := r.r.room(budget)
		if err != nil {
			return err
		}
		if len(room) == 0 {
			panic("no room")
		}
		r.LongestRead = max(r.LongestRead, len(room))
		n := copy(room, data)
		r.r.grown(n)
		data = data[n:]
	}
}

// lend is what an endpoint does that has got a buffer.
func (r *Receiver) lend() {
	if r.lent == nil {
		return
	}
	if !r.r.lent {
		r.r.lend(r.lent)
	}
	r.r.oneMessage = r.OneMessage != nil && r.OneMessage()
}

// park is what an endpoint does at the end of a turn.
func (r *Receiver) park() error {
	switch {
	case !r.r.lent:
		return r.r.park()
	case r.r.buffered() == 0:
		r.r.release()
	}
	return nil
}

// Close returns the memory.
func (r *Receiver) Close() {
	r.r.release()
	r.memory.put(r.scratch.block)
	r.memory.close()
}

// Buffered returns the bytes that wait for the rest of their message.
func (r *Receiver) Buffered() int { return r.r.buffered() }

// Moved returns the bytes that were copied within the receiver.
func (r *Receiver) Moved() uint64 { return r.r.moved }

// UsedBytes returns the memory that is in use, except the scratch.
func (r *Receiver) UsedBytes() int {
	used, _ := r.memory.sizes()
	return used - scratchBytes
}

// ReceivePool is a pool of receive buffers.
type ReceivePool struct{ p *receivePool }

// ReceivePoolOf returns the pool of a backend, a listen endpoint or an endpoint
// (those last on the loop only).
func ReceivePoolOf(owner any) ReceivePool {
	switch owner := owner.(type) {
	case *backend:
		return ReceivePool{owner.receive}
	case *listenEndpoint:
		return ReceivePool{owner.receive}
	}
	return ReceivePool{owner.(*endpoint).borrower.pool}
}

// None reports whether there is no pool.
func (p ReceivePool) None() bool { return p.p == nil }

// Bytes returns the size of the memory.
func (p ReceivePool) Bytes() int { return len(p.p.buffers.Region()) }

// Used returns the number of buffers that endpoints have.
func (p ReceivePool) Used() int { return p.p.buffers.Buffers() - p.p.buffers.Free() }

// Freed reports whether the memory was given back.
func (p ReceivePool) Freed() bool {
	b := p.p.buffers.Get() // nil if the pool was retired
	if b != nil {
		b.Release()
	}
	return b == nil && p.Used() == 0
}

// FindStalled makes the alarm of the pool ring at a time. Threads: the loop.
func (p ReceivePool) FindStalled(now time.Time) { p.p.findStalled(now) }

// Waiting returns the endpoints that wait for a buffer, in this order. Threads: the loop.
func (p ReceivePool) Waiting() (eps []netio.Endpoint) {
	for b := p.p.line.first; b != nil; b = b.next {
		eps = append(eps, b.endpoint)
	}
	return eps
}

// BackendBytes returns the memory that a backend has in use, except the
// scratch, and that it keeps free.
func BackendBytes(b netio.Backend) (used, free int) {
	used, free = b.(*backend).memory.sizes()
	return used - scratchBytes, free
}

// TrimMemory is what a backend does after a while without need for memory.
func TrimMemory(b netio.Backend) { b.(*backend).memory.trim() }

// Part returns how many bytes of a message an endpoint has read. Threads: the
// loop.
func Part(ep netio.Endpoint) int { return ep.(*endpoint).receiver.buffered() }

// FD returns the descriptor of an endpoint. Threads: the loop.
func FD(ep netio.Endpoint) int { return ep.(*endpoint).fd }

// PendingFD returns the descriptor of the endpoint that was opened last on a
// backend whose loop does not run yet.
func PendingFD(b netio.Backend) int {
	l := &b.(*backend).List
	l.Refill()
	fd := -1
	for range l.Left() {
		w := l.Take()
		if e, ok := w.(*endpoint); ok {
			fd = e.fd
		}
		l.Put(w)
	}
	return fd
}

// SendFailed makes the next send of an endpoint fail. Threads: the loop.
func SendFailed(ep netio.Endpoint, errno unix.Errno) { ep.(*endpoint).sendFailed(errno) }

// FailToOpen makes an endpoint as OpenEndpoint does, with receive buffers that
// no memory is large enough for.
func FailToOpen(b netio.Backend) error {
	p := netio.Params{Receive: netio.ReceiveParams{Buffers: 1, MaxMessageBytes: math.MaxInt - 2*lengthBytes}}
	_, err := newEndpoint(b.(*backend), -1, netip.AddrPort{}, &p)
	return err
}

// Refuse is the first half of a call of Buffer that finds no buffer at first,
// while the loop works for an earlier refusal; withdraw is the second, in which
// it finds one.
func Refuse(ep netio.Endpoint) (withdraw func() bool) {
	e := ep.(*endpoint)
	e.NoBuffer.Add()
	e.Schedule(toAnswer)
	return e.NoBuffer.Withdraw
}
