// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync"
	"sync/atomic"

	"tagbus/bus/internal/arena"
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// frontBytes is the memory before a payload for the header of its page. Where both lie one behind the other the page is
// one piece, which a subscriber within the host reads where it is.
const frontBytes = wire.MaxOverhead

// borrowing is memory of the pool that users fill themselves.
type borrowing struct {
	held atomic.Int64

	mu     sync.Mutex
	tail   arena.Tail // guarded by mu
	free   *Loan      // guarded by mu; linked by next
	warmth warmth     // guarded by mu
}

// Loan is memory of the pool for one message, which its user fills in place and publishes without
// a copy. It is used again for other loans: who keeps it keeps the turn, too, which says which
// loan is meant. nil is over.
//
// Threads: one at a time, that of its user.
type Loan struct {
	fan     *Fanout
	piece   arena.Piece
	front   int   // bytes of piece before the payload, for the header of its page
	size    int64 // of the memory
	filling filling
	next    *Loan
	turn    atomic.Uint32 // odd: it is lent to a user
}

// Borrow returns a loan of n bytes, whose content is undefined, and its turn.
//
//   - Errors: ErrTooLarge if n is more than a page or the largest message; ErrNoRoom, also if half of the pool is
//     lent; after Stop ErrStopped instead of that. They are not wrapped.
//   - Threads: any.
func (fan *Fanout) Borrow(n int) (l *Loan, turn uint32, err error) {
	if n > fan.cfg.PageBytes || n > fan.cfg.MaxMessageBytes {
		return nil, 0, ErrTooLarge
	}
	if l = fan.tryBorrow(n); l == nil {
		fan.refused() // as in open: what is freed behind this line is announced
		fan.dry.Store(true)
		if l = fan.tryBorrow(n); l == nil {
			return nil, 0, fan.noRoom()
		}
	}
	if l.filling.clears() {
		arena.Warm(l.piece)
	}
	return l, l.turn.Add(1), nil
}

// noRoom returns why there is no memory, and may be some later: not after Stop, which wakes those that wait.
func (fan *Fanout) noRoom() error {
	fan.Mu.Lock()
	defer fan.Mu.Unlock()
	if fan.stopped {
		return ErrStopped
	}
	return ErrNoRoom
}

// tryBorrow returns a loan, nil if there is no memory.
func (fan *Fanout) tryBorrow(n int) *Loan {
	b, front := &fan.borrowed, fan.frontOf(n)
	size := int64(max(front+n, 1))
	if b.held.Add(size) > fan.lossyBytes { // half of the pool: the rest is for messages that wait
		b.held.Add(-size)
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	piece, ok := fan.arena.TakeWhole(&b.tail, int(size))
	if !ok {
		b.held.Add(-size)
		return nil
	}
	l := b.free
	if l == nil {
		l = &Loan{fan: fan}
	} else {
		b.free, l.next = l.next, nil
	}
	if l.filling = (filling{}); arena.Cold(piece) {
		l.filling = b.warmth.begin(fan.now())
	}
	piece.Mem = piece.Mem[: front+n : front+n]
	l.piece, l.front, l.size = piece, front, size
	return l
}

// frontOf returns how much memory a loan of n bytes has for the header of its page. It is none if the loan is going to be
// copied, or fills a page. Nor is there any if fewer such loans fit into a buffer with it, unless memory is plenty: a pool takes as
// many of half a page as it has halves of pages.
func (fan *Fanout) frontOf(n int) int {
	with := fan.cfg.PageBytes / (frontBytes + n)
	if !fan.lends(n) || with == 0 || with < fan.cfg.PageBytes/n && !fan.arena.Plenty() {
		return 0
	}
	return frontBytes
}

// Data returns the memory of a loan, nil if it is over.
func (l *Loan) Data(turn uint32) []byte {
	if l.over(turn) {
		return nil
	}
	return l.piece.Mem[l.front:]
}

// Publish publishes the first n bytes of the loan, which is over then. ok is false, and nothing
// has happened, if it is over already.
//
//   - Errors: as Fanout.Publish. The loan is as before then.
func (l *Loan) Publish(turn uint32, tag tags.Tag, status wire.Status, n int) (ok bool, err error) {
	if l.over(turn) {
		return false, nil
	}
	data := l.Data(turn)[:n]
	l.filled(n)
	lent, err := l.fan.publishLent(tag, status, payload{mem: l.piece.Mem[:l.front+n], front: l.front, chunk: l.piece.Chunk})
	if !lent {
		err = l.fan.Publish(tag, status, data, nil)
	}
	if err == nil {
		l.end(!lent)
	}
	return true, err
}

// Abort ends the loan, and reports whether it was not over.
func (l *Loan) Abort(turn uint32) bool {
	if l.over(turn) {
		return false
	}
	l.end(true)
	return true
}

// filled notes how long it took to fill n bytes.
func (l *Loan) filled(n int) {
	if l.filling.began == 0 {
		return
	}
	now, b := l.fan.now(), &l.fan.borrowed
	b.mu.Lock()
	defer b.mu.Unlock()
	b.warmth.end(l.filling, now, n)
	l.filling = filling{}
}

// over reports whether a loan is over; nil is.
func (l *Loan) over(turn uint32) bool { return l == nil || l.turn.Load() != turn }

// end ends the loan.
//
//   - free: its memory is not in use.
func (l *Loan) end(free bool) {
	fan, chunk, size := l.fan, l.piece.Chunk, l.size
	l.piece = arena.Piece{}
	l.turn.Add(1)
	b := &fan.borrowed
	b.mu.Lock()
	l.next, b.free = b.free, l
	b.mu.Unlock()
	if free {
		chunk.Release()
	}
	b.held.Add(-size)
	fan.memoryFreed()
}
