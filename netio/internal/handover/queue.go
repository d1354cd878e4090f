// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"math"
	"sync/atomic"

	"tagbus/netio"
)

// Queue counts the sends of one endpoint from acceptance to completion. The backend
// has a ring of Places entries for them. The numbers of the entries only grow:
//
//	Head                               Tail
//	 | the loop's: given to the system, | free
//	 | or not yet, or to be reported    |
//
// Senders append at Tail, under Mu. The loop moves Head without Mu, so that senders
// never wait for a system call.
type Queue struct {
	Places int    // limit and the endpoint's own buffers, a power of two
	limit  uint64 // of Send, and of SendBuffer if the buffers are shared
	shared bool   // the buffers are shared

	Mu     Lock
	Tail   uint64
	known  bool   // the loop is going to look at what is appended
	closed bool   // no more sends
	most   uint64 // outstanding at a time since the last call of room

	Head    atomic.Uint64
	noPlace Refusals
}

// Init prepares q for an endpoint of b.
func (q *Queue) Init(b *Backend, p *netio.Params) {
	q.Mu.off = b.config.ThreadSafety == netio.Unsafe
	q.shared = b.shared != nil
	q.limit = uint64(p.ZeroCopy.Outstanding)
	q.Places = 1
	for q.Places < p.ZeroCopy.Outstanding+p.Buffered.Buffers {
		q.Places *= 2
	}
}

// Entry is what all backends note of an accepted send.
type Entry struct {
	Key    netio.Key
	Buffer *netio.Buffer // of SendBuffer; nil: the memory is the user's, or a copy
}

// MessageBytes returns the size of a message. Errors: ErrHeaderTooLarge, ErrTooLarge,
// ErrEmptyMessage.
func MessageBytes(header []byte, data [][]byte) (int, error) {
	if len(header) > netio.MaxHeaderBytes {
		return 0, netio.ErrHeaderTooLarge
	}
	n := len(header)
	for _, piece := range data {
		if len(piece) > math.MaxInt32-n {
			return 0, netio.ErrTooLarge
		}
		n += len(piece)
	}
	if n == 0 {
		return 0, netio.ErrEmptyMessage
	}
	return n, nil
}

// Idle reports whether the queue is open and all that was accepted is completed: the
// loop has nothing to send, and nothing of what it has sent in part. Then there is a
// place for Send. Mu is held.
func (q *Queue) Idle() bool { return !q.closed && q.Tail == q.Head.Load() }

// Reserve ensures that entry Tail is free for Send. Mu is held until Commit, or until
// the send is given up. Errors: ErrClosed, ErrNoResources.
func (q *Queue) Reserve() error {
	if q.closed {
		return netio.ErrClosed
	}
	if q.Tail-q.Head.Load() < q.limit {
		return nil
	}
	q.noPlace.Add()
	if q.Tail-q.Head.Load() < q.limit && q.noPlace.Withdraw() {
		return nil
	}
	return netio.ErrNoResources
}

// CanReserve reports whether Reserve would find a place. Mu is held.
func (q *Queue) CanReserve() bool { return !q.closed && q.Tail-q.Head.Load() < q.limit }

// ReserveBuffer does what Reserve does for SendBuffer, and takes b, a buffer of pool,
// from its user. A message has at most largest bytes. Mu is held. Errors: ErrClosed,
// ErrForeignBuffer, ErrEmptyMessage, ErrTooLarge, ErrNoResources; b stays the user's.
func (q *Queue) ReserveBuffer(b *netio.Buffer, pool *netio.Pool, largest int) error {
	if q.closed {
		return netio.ErrClosed
	}
	if !b.MarkSent(pool) {
		return netio.ErrForeignBuffer
	}
	err := q.checkBuffer(len(b.Bytes()), largest)
	if err != nil {
		b.UnmarkSent()
	}
	return err
}

// checkBuffer returns why a buffer of n bytes cannot be sent. There is always a place
// for one of the endpoint's own buffers: no more exist than there are places.
func (q *Queue) checkBuffer(n, largest int) error {
	switch {
	case n == 0:
		return netio.ErrEmptyMessage
	case n > largest:
		return netio.ErrTooLarge
	case q.shared:
		return q.Reserve()
	}
	return nil
}

// Commit accepts entry Tail, and reports whether the loop must be woken.
func (q *Queue) Commit() (wake bool) {
	q.Tail++
	q.most = max(q.most, q.Tail-q.Head.Load())
	wake = !q.known
	q.known = true
	return wake
}

// Look returns the end of what there is to send, from next on. If there is nothing, the
// next sender wakes the loop. Mu is held.
func (q *Queue) Look(next uint64) (tail uint64) {
	q.known = next != q.Tail
	return q.Tail
}

// Finish frees the head of the queue, entry i, for the next send, and returns its key.
// e is a copy of what the backend has in the entry, and has emptied.
func (q *Queue) Finish(i uint64, e Entry) netio.Key {
	q.Head.Store(i + 1) // first: so there is a place for each free buffer
	if e.Buffer != nil {
		release(e.Buffer)
	}
	return e.Key
}

// release is a call of its own, so that Finish is cheap to inline.
//
//go:noinline
func release(b *netio.Buffer) { b.ReleaseSent() }

// Close refuses further sends, and returns the end of the accepted ones.
func (q *Queue) Close() (tail uint64) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.closed = true
	return q.Tail
}

// HasRefusals reports whether a send found no place and is not answered yet.
func (q *Queue) HasRefusals() bool { return q.noPlace.Count() > 0 }

// hasPlace reports whether Send would find a place.
func (q *Queue) hasPlace() bool {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.Tail-q.Head.Load() < q.limit
}

// room returns how many sends there is place for, now and at the fewest since the last
// call.
func (q *Queue) room() (now, fewest int) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	used := q.Tail - q.Head.Load()
	most := q.most
	q.most = used
	return int(q.limit - min(used, q.limit)), int(q.limit - min(max(used, most), q.limit))
}
