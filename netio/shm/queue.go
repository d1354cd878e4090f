// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"math"

	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
)

// queue is a handover.Queue with the writer that the sends go to:
//
//	Head                  sent                  Tail
//	 | in the segment:      | to be put there,    |
//	 | to be reported, now, | the first of them   | free
//	 | or when it was read  | in part             |
//
// A sender puts its message into the segment itself, if nothing is before it and there is
// room, and wakes the other side if that sleeps. The loop puts what has found no room. It
// reports what was copied, and what was lent when the other side has read it.
type queue struct {
	handover.Queue

	// Under Mu; the loop reads the entries for what it has seen there.
	writer writer
	ring   []entry // of Places; nil: nothing was sent yet
	sent   uint64
	failed error // why the other side is not to be trusted
}

// entry is an accepted send.
type entry struct {
	handover.Entry
	checksum invariants.Checksum
	lent     uint64 // the position behind the last descriptor, up to its own, that names the region

	// What is left to be put, and with the tag invariants all of it.
	message message
	header  [netio.MaxHeaderBytes]byte
	copy    []byte // of SendCopy
}

// maxKept is how much memory an entry keeps for the next message.
const (
	maxKeptPieces = 64
	maxKeptBytes  = 16 << 10
)

// open begins to use a segment. Nothing was sent before.
func (q *queue) open(s shape, mem []byte, r region, peer *page, fd int) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.writer.open(s, mem, r, peer, fd)
}

// at returns entry i.
func (q *queue) at(i uint64) *entry { return &q.ring[i&uint64(q.Places-1)] }

// next returns the entry of the next send, which is reserved. Mu is held.
func (q *queue) next() *entry {
	if q.ring == nil {
		q.ring = make([]entry, q.Places)
	}
	return q.at(q.Tail)
}

// push accepts a message. copied: none of its memory may be needed any more. wake: the
// loop must be woken.
func (q *queue) push(key netio.Key, m *message, copied bool, c *handover.Counters) (wake bool, err error) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err := q.Reserve(); err != nil {
		return false, err
	}
	e := q.next()
	e.Entry = handover.Entry{Key: key}
	return q.append(e, m, copied, c), nil
}

// pushBuffer accepts a buffer of pool.
func (q *queue) pushBuffer(b *netio.Buffer, pool *netio.Pool, c *handover.Counters) (wake bool, err error) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err := q.ReserveBuffer(b, pool, math.MaxInt); err != nil {
		return false, err
	}
	e := q.next()
	e.Entry = handover.Entry{Key: b.Key(), Buffer: b}
	piece := [1][]byte{b.Bytes()}
	m := message{pieces: piece[:], size: len(piece[0])}
	return q.append(e, &m, false, c), nil
}

// append accepts a message for which e is reserved. Mu is held.
func (q *queue) append(e *entry, m *message, copied bool, c *handover.Counters) (wake bool) {
	if invariants.Enabled && !copied {
		e.checksum.Take(m.pieces...)
	}
	whole := q.sent == q.Tail && q.put(m)
	if whole {
		q.account(e, m.size, c)
		q.sent++
	}
	if !whole || invariants.Enabled && !copied {
		e.keep(m, copied)
	}
	q.writer.publish()
	q.Commit()
	return q.arm()
}

// put puts a message into the segment, as far as there is room. It reports whether that
// was all. Mu is held.
func (q *queue) put(m *message) (whole bool) {
	w := &q.writer
	if w.put(m) {
		return true
	}
	if q.failed == nil {
		q.failed = w.look()
	}
	return q.failed == nil && w.put(m)
}

// account notes that the message of e is in the segment. Mu is held.
func (q *queue) account(e *entry, bytes int, c *handover.Counters) {
	e.lent = q.writer.lent
	c.MessagesSent.Add(1)
	c.BytesSent.Add(uint64(bytes))
}

// keep notes what is left of a message.
func (e *entry) keep(m *message, copied bool) {
	k := &e.message
	pieces := k.pieces[:0]
	k.size, k.begun, k.next, k.offset, k.put = m.size, m.begun, m.next, m.offset, m.put
	k.header = e.header[:copy(e.header[:], m.header)]
	if copied {
		e.copy = e.copy[:0]
		for _, piece := range m.pieces {
			e.copy = append(e.copy, piece...)
		}
		for _, piece := range m.pieces[:m.next] { // what was put is in front
			k.offset += len(piece)
		}
		k.next = 0
		k.pieces = append(pieces, e.copy)
		return
	}
	k.pieces = append(pieces, m.pieces...)
}

// empty forgets the memory of users, which the entry would keep alive. It leaves end.
func (e *entry) empty() {
	e.Entry = handover.Entry{}
	pieces := e.message.pieces
	clear(pieces)
	if cap(pieces) > maxKeptPieces {
		pieces = nil
	}
	e.message = message{pieces: pieces[:0]}
	if cap(e.copy) > maxKeptBytes {
		e.copy = nil
	}
}

// pushDirect puts a copy of a message into the segment, if nothing before it waits, or is
// lent and may be taken back. wake: the loop must be woken.
func (q *queue) pushDirect(m *message) (done, wake bool) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if q.sent != q.Tail || !q.CanReserve() || q.failed != nil {
		return false, false
	}
	w := &q.writer
	if q.failed = w.look(); q.failed != nil {
		return false, true
	}
	if m.size > len(w.arena)/2 { // it goes in parts, and another sender's must not come between them
		return false, false
	}
	if w.unread() || w.tail-w.read == uint64(w.shape.slots) {
		return false, false
	}
	lends := w.region
	w.region = nil
	done = w.put(m) // all or nothing: it is one piece, of no more than half of the arena
	w.region = lends
	if done {
		w.publish()
	}
	return done, w.trouble
}

// arm makes the other side wake this one when it has read some of what is outstanding. It
// reports whether the loop must look now: there is something to report, or something is
// wrong. Mu is held.
func (q *queue) arm() (look bool) {
	w := &q.writer
	waiting := q.sent != q.Tail // for room
	switch {
	case q.failed != nil || w.trouble:
		return true
	case q.Head.Load() == q.Tail || w.awaits():
		return false
	case !waiting && !w.unread():
		return true
	}
	// With much outstanding it is a quarter of that, so that both sides work at the same
	// time, and with little all of it.
	position := w.lent
	if waiting || q.Tail-q.Head.Load() > uint64(q.Places)/4 {
		position = w.read + (w.published-w.read+3)/4
	}
	var read bool
	read, q.failed = w.await(position)
	return read || q.failed != nil
}

// pump puts what has found no room before. It returns how far the other side has read,
// and the end of what was put. Errors: ErrProtocol, wrapped.
func (q *queue) pump(c *handover.Counters) (read, sent uint64, err error) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	w := &q.writer
	if q.failed == nil {
		q.failed = w.look()
	}
	if q.failed != nil {
		return 0, 0, q.failed
	}
	for q.sent != q.Tail {
		e := q.at(q.sent)
		if !w.put(&e.message) {
			break
		}
		q.account(e, e.message.size, c)
		q.sent++
	}
	w.publish()
	return w.read, q.sent, nil
}

// await is arm for the loop.
func (q *queue) await() (look bool) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.arm()
}

// lends reports whether the other side may look at memory of the region.
func (q *queue) lends() bool {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.writer.mem != nil && q.failed == nil && q.writer.look() == nil && q.writer.lends()
}

// finish tells the other side that nothing more is published. The queue is closed.
func (q *queue) finish() {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.writer.finish()
}

// release forgets the segment. The queue is closed.
func (q *queue) release() {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.writer = writer{}
}
