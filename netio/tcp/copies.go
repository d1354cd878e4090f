// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"encoding/binary"
	"slices"

	"tagbus/netio"
)

// copyBytes is the size up to which Send copies as SendCopy does: that is
// cheaper than two more entries in the vector of the system call.
const copyBytes = 256

// copies is a block of copied messages. It is needed until entry last, the last
// of them, is completed.
type copies struct {
	block *block // nil: there is none yet
	used  int
	last  uint64
}

// pushCopy appends a copy of a message. Copies of several messages lie behind
// each other, and go to the system as one piece.
func (q *queue) pushCopy(key netio.Key, size int, header []byte, data [][]byte) (wake bool, err error) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err := q.Reserve(); err != nil {
		return false, err
	}
	frame, err := q.copyRoom(lengthBytes + size)
	if err != nil {
		return false, err
	}
	binary.LittleEndian.PutUint32(frame, uint32(size))
	n := lengthBytes + copy(frame[lengthBytes:], header)
	for _, piece := range data {
		n += copy(frame[n:], piece)
	}
	e := q.next()
	e.Key = key
	e.bytes = n
	e.headBytes = 0
	q.filling.last = q.Tail
	e.pieces[0] = vector(frame)
	return q.Commit(), nil
}

// copyRoom returns n bytes of q.filling, which it replaces if they do not fit. The first
// block is small, which is enough for an endpoint that sends now and then.
func (q *queue) copyRoom(n int) ([]byte, error) {
	if q.filling.block == nil || n > len(q.filling.block.mem)-q.filling.used {
		want := n
		if q.filling.block != nil {
			want = max(n, classBytes(mediumClass))
		}
		b, err := q.memory.get(want)
		if err != nil {
			return nil, err
		}
		if q.filling.block != nil {
			q.full = append(q.full, q.filling)
		}
		q.filling = copies{block: b}
	}
	begin := q.filling.used
	q.filling.used += n
	return q.filling.block.mem[begin : begin+n : begin+n], nil
}

// reclaim gives back the blocks whose messages are completed, also the one
// that is being filled if all are: idle endpoints hold no memory. Mu is held.
func (q *queue) reclaim() {
	head := q.Head.Load()
	n := 0
	for n < len(q.full) && q.full[n].last < head {
		q.memory.put(q.full[n].block)
		n++
	}
	q.full = slices.Delete(q.full, 0, n)
	if q.filling.block != nil && head == q.Tail {
		q.memory.put(q.filling.block)
		q.filling = copies{}
	}
}

// release gives back what copies lie in, when all entries are finished, and forgets the socket,
// whose number is another's when it is closed.
func (q *queue) release() {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.reclaim()
	q.socket = -1
}
