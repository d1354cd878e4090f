// SPDX-License-Identifier: Apache-2.0

package tcp

import "encoding/binary"

// The use of memory that is not the receiver's own, a receive buffer.

// lend makes the receiver use mem until release, for an empty window. mem has room
// for the largest message and its length.
func (r *receiver) lend(mem []byte) {
	r.lent = true
	r.buf, r.start, r.end = mem, 0, 0
}

// lentRoom is room in memory that was lent. Bytes are moved only to make room
// for the first message, or where that costs less than another read.
func (r *receiver) lentRoom(budget int) []byte {
	have := r.end - r.start
	first := lengthBytes // bytes of the first frame
	if have >= lengthBytes {
		first += int(binary.LittleEndian.Uint32(r.buf[r.start:]))
	} else if r.last >= largeBytes && !r.oneMessage {
		first += r.last // it may be as the last
	}
	size := len(r.buf)
	if first+lengthBytes <= scratchBytes {
		size = min(size, scratchBytes) // stays in the cache
	}
	if r.start > 0 && (have <= smallBytes || r.start+first > size) {
		r.move(r.buf)
	}
	size = r.reach(first, size, budget)
	want := first
	if !r.oneMessage {
		// As if nothing of a large frame had come: a part behind its end would
		// have to be moved, and the next one again.
		want = r.want(0, first, size)
	}
	return r.buf[r.end:min(r.start+want, size, r.end+maxReadBytes)]
}
