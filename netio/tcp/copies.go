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
	*block
	used int
	last uint64
}

// pushCopy appends a copy of a message. Copies of several messages lie behind
// each other, and go to the system as one piece.
func (q *queue) pushCopy(key netio.Key, size int, header []byte, data [][]byte) (tell bool, err error) {
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
	q.block.last = q.Tail
	e.pieces[0] = vector(frame)
	return q.Commit(), nil
}

// copyRoom returns n bytes of q.block, which it replaces if they do not fit.
// The first block is small, which is enough for who sends now and then.
func (q *queue) copyRoom(n int) ([]byte, error) {
	if q.block.block == nil || n > len(q.block.mem)-q.block.used {
		want := n
		if q.block.block != nil {
			want = max(n, classBytes(mediumClass))
		}
		b, err := q.memory.get(want)
		if err != nil {
			return nil, err
		}
		if q.block.block != nil {
			q.full = append(q.full, q.block)
		}
		q.block = copies{block: b}
	}
	begin := q.block.used
	q.block.used += n
	return q.block.mem[begin : begin+n : begin+n], nil
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
	if q.block.block != nil && head == q.Tail {
		q.memory.put(q.block.block)
		q.block = copies{}
	}
}

// release gives back what copies lie in, when all entries are finished.
func (q *queue) release() {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.reclaim()
}
