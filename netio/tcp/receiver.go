// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"encoding/binary"
	"fmt"

	"tagbus/netio"
)

const (
	lengthBytes = 4

	// largeBytes is the size from which a frame is read to its end and no
	// further: a system call then costs less than moving what follows.
	largeBytes = 32 << 10

	// maxReadBytes bounds one read.
	maxReadBytes = 1<<20 + slack
)

// receiver cuts a byte stream into messages. It owns a window of bytes that
// were read and not delivered yet. In a turn of its endpoint,
//
//   - room says where to read to, and grown how much was read;
//   - next returns the messages, until there is none whole any more;
//   - park, at the end, moves what is left out of the scratch.
//
// Its memory follows what comes. Between lend and release it is one piece that
// is not its own, see receiver_lent.go; then park is not called.
//
// It knows nothing of sockets. Threads: the loop.
type receiver struct {
	memory  *memory
	scratch *scratch
	own     *block // holds the window; nil: the scratch does, or it is empty
	buf     []byte // memory of the window; nil: it is empty
	start   int    // the window is buf[start:end]
	end     int

	kept       bool // there are messages in buf, before start, that were retained
	lent       bool // buf was lent
	oneMessage bool // read lent memory only to the end of the first message

	limit uint32 // for the next message
	max   uint32 // for all but the first

	last   int  // bytes of the last message
	proven int  // bytes of the largest message so far: the peer may have as many again
	steady bool // the last two messages were of the same size

	total uint64 // bytes read

	// Since the endpoint took them.
	messages, bytes, moved uint64
}

func (r *receiver) init(m *memory, s *scratch, p netio.ReceiveParams) {
	r.memory, r.scratch = m, s
	r.limit, r.max = uint32(p.FirstMessageBytes), uint32(p.MaxMessageBytes)
}

// buffered returns the number of bytes in the window.
func (r *receiver) buffered() int { return r.end - r.start }

// grown notes that n bytes were read to the memory that room returned.
func (r *receiver) grown(n int) {
	r.end += n
	r.total += uint64(n)
}

// next returns the next message, nil if it is not there as a whole. It is
// valid until the next call of room or park. Errors: netio.ErrMessageLength,
// wrapped, again and again.
func (r *receiver) next() ([]byte, error) {
	have := r.end - r.start
	if have < lengthBytes {
		return nil, nil
	}
	n := binary.LittleEndian.Uint32(r.buf[r.start:])
	if n-1 >= r.limit { // 0 becomes the largest number
		return nil, fmt.Errorf("%w: %d bytes, want 1 to %d", netio.ErrMessageLength, n, r.limit)
	}
	size := int(n) // up to 2^31-1: the limit has been checked
	if have-lengthBytes < size {
		return nil, nil
	}
	begin := r.start + lengthBytes
	r.start = begin + size
	r.limit = r.max
	r.steady = size == r.last
	r.last = size
	r.proven = max(r.proven, size)
	r.messages++
	r.bytes += uint64(size)
	return r.buf[begin:r.start:r.start], nil
}

// more reports whether next would return a message.
func (r *receiver) more() bool {
	have := r.end - r.start - lengthBytes
	return have >= 0 && uint64(have) >= uint64(binary.LittleEndian.Uint32(r.buf[r.start:]))
}

// room returns memory of at least one byte, behind the window, to read to: up to
// budget bytes, or as many as the first frame needs. It follows a call of next that
// has returned nil.
//
// Errors: the system's (no memory).
func (r *receiver) room(budget int) ([]byte, error) {
	if r.lent {
		return r.lentRoom(budget), nil
	}
	have := r.end - r.start
	first := lengthBytes // bytes of the first frame
	if have >= lengthBytes {
		first += int(binary.LittleEndian.Uint32(r.buf[r.start:]))
	} else if r.last >= largeBytes {
		first += r.last // it may be as the last
	}
	if r.buf == nil || r.own != nil && have <= smallBytes {
		mem, err := r.scratch.open(r.memory)
		if err != nil {
			return nil, err
		}
		if r.buf == nil || first+lengthBytes <= len(mem) || len(r.buf) < len(mem) {
			r.useScratch(mem)
		}
	}
	if first > len(r.buf) && (have == len(r.buf) || first-lengthBytes <= r.proven) {
		if err := r.grow(first + lengthBytes); err != nil {
			return nil, err
		}
	}
	if r.start > 0 && (have <= smallBytes || r.start+first > len(r.buf)) {
		if err := r.compact(); err != nil {
			return nil, err
		}
	}
	size := r.reach(first, len(r.buf), budget)
	return r.buf[r.end:min(r.start+r.want(have, first, size), size, r.end+maxReadBytes)], nil
}

// reach returns how much of size bytes of memory a read may fill. A frame is not
// cut where the budget ends: to keep the part costs more than to read the rest.
func (r *receiver) reach(first, size, budget int) int {
	return min(size, max(r.end+budget, r.start+first+lengthBytes))
}

// want returns how many bytes the window should hold after the next read: the size,
// which is all that fits, unless the first frame is large. Then it is this frame and
// the length behind it, or more frames, if they go on being of the same size.
func (r *receiver) want(have, first, size int) int {
	if first-have < largeBytes {
		return size
	}
	want := first + lengthBytes
	if room := size - r.start - want; r.steady && first == lengthBytes+r.last && room > 0 {
		want += room / first * first
	}
	return want
}

// useScratch moves the window, of up to smallBytes, to the scratch.
func (r *receiver) useScratch(mem []byte) {
	end := r.end
	r.move(mem)
	r.leave(end)
}

// block returns the one that holds the window.
func (r *receiver) block() *block {
	if r.own != nil {
		return r.own
	}
	return r.scratch.block
}

// leave gives up the block that has held the window, up to end.
func (r *receiver) leave(end int) {
	switch {
	case r.own != nil:
		r.memory.put(r.own)
		r.own = nil
	case r.kept:
		r.scratch.keep(end)
	}
	r.kept = false
}

// retain keeps the message that next has returned last, until its block is
// released.
func (r *receiver) retain() *block {
	b := r.block()
	b.Retain()
	r.kept = true
	return b
}

// compact makes room behind the window: it moves it to the beginning of its
// memory or, where messages are retained, to other memory. Errors: the system's
// (no memory).
func (r *receiver) compact() error {
	if !r.kept || !r.block().retained() {
		r.move(r.buf)
		return nil
	}
	b, err := r.memory.get(len(r.buf))
	if err != nil {
		return err
	}
	r.replace(b)
	return nil
}

// grow moves the window to a larger block: of n bytes if the peer has proven
// that it sends as much, else of double the size, so that a peer gets no more
// than it has paid for with bytes.
func (r *receiver) grow(n int) error {
	if n-2*lengthBytes > r.proven {
		n = min(n, 2*(len(r.buf)-slack))
	}
	b, err := r.memory.get(n)
	if err != nil {
		return err
	}
	r.replace(b)
	return nil
}

// park ends a turn: it gives back what the window does not need. Errors: the
// system's (no memory), and then the window is lost.
func (r *receiver) park() error {
	have := r.end - r.start
	switch {
	case have == 0:
		r.release()
	case have <= smallBytes && (r.own == nil || r.own.class > 0):
		b, err := r.memory.get(have)
		if err != nil {
			r.release()
			return err
		}
		r.replace(b)
	case r.own == nil:
		b, err := r.memory.get(scratchBytes)
		if err != nil {
			r.release()
			return err
		}
		r.own = r.scratch.exchange(b)
	}
	return nil
}

// replace moves the window to b.
func (r *receiver) replace(b *block) {
	end := r.end
	r.move(b.mem)
	r.leave(end)
	r.own = b
}

// move moves the window to the beginning of mem.
func (r *receiver) move(mem []byte) {
	n := copy(mem, r.buf[r.start:r.end])
	r.moved += uint64(n)
	r.buf, r.start, r.end = mem, 0, n
}

// release empties the window.
func (r *receiver) release() {
	r.leave(r.end)
	r.lent = false
	r.buf, r.start, r.end = nil, 0, 0
}
