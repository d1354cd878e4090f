// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"time"

	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
)

// minReceiveBytes is the smallest receive buffer: a tiny limit for messages
// must not mean a system call for each.
const minReceiveBytes = 4 << 10

// receivePool is a fixed number of receive buffers, of one endpoint or shared
// by many. An endpoint needs one to read, and keeps it while it holds a part of
// a message:
//
//	           take                 wait
//	nothing ─────────► has a buffer      nothing ─────► waits in line
//	   ▲                  │     ▲                            │
//	   └──────────────────┘     └────────────────────────────┘
//	     nothing is left              giveBack of another
//
// While an endpoint waits no buffer is free: one that comes back goes to the first in
// line. Unread bytes of waiting endpoints stay in the system, whose flow control reaches
// the peer.
//
// Threads: the loop.
type receivePool struct {
	alarms  *alarm.Clock
	timeout time.Duration // partialTimeout
	own     bool          // of one endpoint, with which it ends
	buffers *netio.Pool
	holders borrowers
	line    borrowers
	since   time.Time   // the line was not empty
	stall   alarm.Alarm // may stay set for a while when the line is empty
}

// borrower is an endpoint as its pool sees it: it has a buffer, or waits, or
// neither.
type borrower struct {
	endpoint   *endpoint
	pool       *receivePool // nil: receives into memory of the backend
	buffer     *netio.Buffer
	waits      bool
	seen       uint64    // bytes received at the last progress
	progress   time.Time // noted only while others wait
	broken     time.Time // since when the connection has failed; zero: it has not
	next, prev *borrower
}

// newReceivePool returns a pool for messages of up to a size. Errors: the
// system's (no memory).
func newReceivePool(b *backend, buffers, messageBytes int) (*receivePool, error) {
	pool, err := netio.NewPool(buffers, max(lengthBytes+messageBytes, minReceiveBytes))
	if err != nil {
		return nil, err
	}
	p := &receivePool{alarms: &b.Alarms, timeout: b.config.partialTimeout, buffers: pool}
	p.stall.F = func() { p.findStalled(time.Now()) }
	return p, nil
}

// newSharedReceive returns the pool of a backend, nil if it shares none.
func newSharedReceive(b *backend) (*receivePool, error) {
	shared := b.config.SharedReceive
	if !shared.Enabled() {
		return nil, nil
	}
	return newReceivePool(b, shared.Buffers, shared.BufferBytes)
}

// newListenReceive returns the pool of a listen endpoint, nil if it shares none.
func newListenReceive(b *backend, p *netio.ReceiveParams) (*receivePool, error) {
	if !p.Shared {
		return nil, nil
	}
	return newReceivePool(b, p.Buffers, p.MaxMessageBytes)
}

// newOwnReceive returns the pool of one endpoint, nil if it has none. An
// endpoint reads to one buffer at a time, so all its buffers are in one piece.
func newOwnReceive(b *backend, p *netio.ReceiveParams) (*receivePool, error) {
	if p.Shared || p.Buffers == 0 {
		return nil, nil
	}
	size := p.Buffers*(lengthBytes+p.MaxMessageBytes) - lengthBytes
	pool, err := newReceivePool(b, 1, size)
	if err != nil {
		return nil, err
	}
	pool.own = true
	return pool, nil
}

// awaited reports whether an endpoint waits for a buffer.
func (p *receivePool) awaited() bool { return p.line.first != nil }

// take gets a buffer for b, if one is free. Then the line is empty.
func (p *receivePool) take(b *borrower) bool {
	if b.buffer = p.buffers.Get(); b.buffer == nil {
		return false
	}
	p.holders.add(b)
	return true
}

// wait puts b in the line. It is called back by endpoint.Schedule(toRead), with a
// buffer.
func (p *receivePool) wait(b *borrower) {
	if !p.awaited() {
		p.since = time.Now()
		if p.timeout > 0 && !p.stall.IsSet() {
			p.alarms.Set(&p.stall, p.timeout)
		}
	}
	b.waits = true
	p.line.add(b)
}

// giveBack hands the buffer of b to the first in line that wants it.
func (p *receivePool) giveBack(b *borrower) {
	buffer := b.buffer
	b.buffer = nil
	p.holders.remove(b)
	for p.awaited() {
		first := p.line.first
		if p.dismiss(first) {
			continue
		}
		p.leaveLine(first)
		first.buffer = buffer
		p.holders.add(first)
		first.endpoint.Schedule(toRead)
		return
	}
	buffer.Release()
}

// dismiss removes b from the line if it was paused or closed meanwhile: then
// it comes again when it is resumed, or never.
func (p *receivePool) dismiss(b *borrower) bool {
	hold := b.endpoint.Hold()
	if hold == 0 {
		return false
	}
	p.leaveLine(b)
	if hold == handover.Paused && !b.broken.IsZero() { // as any paused one
		b.endpoint.failWaiting()
	}
	return true
}

// leaveLine undoes wait.
func (p *receivePool) leaveLine(b *borrower) {
	p.line.remove(b)
	b.waits = false
}

// forget ends the claims of b.
func (p *receivePool) forget(b *borrower) {
	if b.waits {
		p.leaveLine(b)
	}
	if b.buffer != nil {
		p.giveBack(b)
	}
	if p.own {
		p.retire()
	}
}

// retire gives the memory back as soon as the last buffer is. All endpoints of
// the pool have ended or are to end.
func (p *receivePool) retire() {
	p.alarms.Cancel(&p.stall)
	p.buffers.Retire()
}

// findStalled ends the endpoints that keep others waiting because their peers
// stopped in the middle of a message, and those that would wait for a buffer
// though their connections have failed.
func (p *receivePool) findStalled(now time.Time) {
	again := p.timeout
	due := func(since time.Time) bool {
		left := p.timeout - now.Sub(since)
		if left > 0 {
			again = min(again, left)
		}
		return left <= 0
	}
	for b := p.line.first; b != nil; {
		after := b.next
		if !p.dismiss(b) && !b.broken.IsZero() && due(b.broken) {
			b.endpoint.failWaiting()
		}
		b = after
	}
	if !p.awaited() {
		return
	}
	for b := p.holders.first; b != nil; b = b.next {
		last := p.since
		if b.progress.After(last) {
			last = b.progress
		}
		if due(last) {
			b.endpoint.stalled()
		}
	}
	p.alarms.Set(&p.stall, again)
}

// received notes progress.
func (b *borrower) received(total uint64) {
	if b.seen != total && b.pool.awaited() {
		b.seen, b.progress = total, time.Now()
	}
}

// memory returns the memory of the buffer.
func (b *borrower) memory() []byte {
	b.buffer.Reset()
	return b.buffer.Extend(b.buffer.Available())
}

// borrowers is a list, the first to come first.
type borrowers struct{ first, last *borrower }

func (l *borrowers) add(b *borrower) {
	b.prev = l.last
	if l.last == nil {
		l.first = b
	} else {
		l.last.next = b
	}
	l.last = b
}

func (l *borrowers) remove(b *borrower) {
	if b.prev == nil {
		l.first = b.next
	} else {
		b.prev.next = b.next
	}
	if b.next == nil {
		l.last = b.prev
	} else {
		b.next.prev = b.prev
	}
	b.next, b.prev = nil, nil
}
