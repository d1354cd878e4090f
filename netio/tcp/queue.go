// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"math"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
)

// queue is a handover.Queue with a ring, which is made as it is needed:
//
//	Head              sent                  Tail
//	 | taken by the     | to be taken, the    |
//	 | system, to be    | first of them in    | free
//	 | reported         | part                |
//
// An entry between Head and sent is the loop's. When there is none, and none to be
// taken, the loop has no entry in its hands, and gets none without Mu.
type queue struct {
	handover.Queue
	memory *memory

	// Under Mu; the loop reads the ring for what it has seen there.
	ring    ring
	filling copies     // has room for more
	full    []copies   // before it
	socket  int        // to which senders may send; -1: not yet, or no more
	secure  *secure    // nil: what is sent is not sealed
	failed  unix.Errno // what the system has told a sender, and the loop does not know

	// Only on the loop. That of an idle queue sets offset under Mu.
	sent       uint64
	offset     int // bytes of entry sent that the system has taken
	taken      int // its pieces in more that are among them
	takenBytes int // and their bytes
}

func (q *queue) at(i uint64) *entry { return q.ring.at(i) }

// next returns the entry of the next send, which is reserved. Mu is held.
func (q *queue) next() *entry {
	return q.ring.next(q.Tail, q.Places, q.Tail == q.Head.Load())
}

// push appends a message that stays where it is. wake: the loop must be woken.
func (q *queue) push(key netio.Key, size int, header []byte, data [][]byte) (wake bool, err error) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err := q.Reserve(); err != nil {
		return false, err
	}
	return q.append(key, size, header, data), nil
}

// append is push for a place that is reserved. Mu is held.
func (q *queue) append(key netio.Key, size int, header []byte, data [][]byte) (wake bool) {
	e := q.next()
	e.Key = key
	e.setHead(size, header)
	e.setPieces(data)
	e.takeChecksum()
	return q.Commit()
}

// pushBuffer appends a buffer of pool.
func (q *queue) pushBuffer(b *netio.Buffer, pool *netio.Pool) (wake bool, err error) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err := q.ReserveBuffer(b, pool, math.MaxInt); err != nil {
		return false, err
	}
	e := q.next()
	e.Entry = handover.Entry{Key: b.Key(), Buffer: b}
	e.setHead(len(b.Bytes()), nil)
	e.pieces[0] = vector(b.Bytes())
	e.takeChecksum()
	return q.Commit(), nil
}

// take returns the end of what there is to send, and once the error that the system has
// told a sender. If there is nothing, the next sender wakes the loop.
func (q *queue) take() (tail uint64, failed unix.Errno) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.reclaim()
	failed, q.failed = q.failed, 0
	return q.Look(q.sent), failed
}

// gather adds the memory of the entries from sent on, up to tail, to the next
// system call, as much as one takes.
func (q *queue) gather(to *sender, tail uint64) {
	to.skip(q.offset)
	for i := q.sent; i != tail && !to.full(); i++ {
		e := q.at(i)
		if e.headBytes > 0 && !to.add(vector(e.head[:e.headBytes])) {
			return
		}
		for _, v := range e.pieces {
			if v.Base != nil && !to.add(v) {
				return
			}
		}
		if len(e.more) > 0 {
			q.gatherMore(to, e, i == q.sent)
		}
	}
}

// gatherMore adds the pieces of e that did not fit in it. Those of the first
// entry that were taken before are not looked at again: there may be many.
func (q *queue) gatherMore(to *sender, e *entry, first bool) {
	begin := 0
	if first {
		begin = q.taken
		to.skipped(q.takenBytes)
	}
	for i, v := range e.more[begin:] {
		if first && to.before >= int(v.Len) {
			q.taken = begin + i + 1
			q.takenBytes += int(v.Len)
		}
		if !to.add(v) {
			return
		}
	}
}

// advance notes that the system has taken n bytes, and returns the messages,
// and their bytes, that it now has taken whole.
func (q *queue) advance(n int) (messages, bytes int) {
	q.offset += n
	for q.offset > 0 {
		e := q.at(q.sent)
		if q.offset < e.bytes {
			break
		}
		q.offset -= e.bytes
		q.taken, q.takenBytes = 0, 0
		q.sent++
		messages++
		bytes += e.bytes - lengthBytes
	}
	return messages, bytes
}
