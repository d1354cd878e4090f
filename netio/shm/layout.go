// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// A segment is the memory that one side of a connection writes and the other one maps
// for reading only:
//
//	offset          bytes           content
//	0               4,096           page: what the two sides tell each other
//	4,096           slots * 64      descriptors, a ring
//	...             arena           bytes that were copied, a ring
//
// Positions are counts of descriptors since the connection began. They only grow.
const (
	pageBytes       = 4096
	descriptorBytes = 64
	descriptorWords = descriptorBytes / 8

	// inlineBytes is how much of a message a descriptor has room for.
	inlineBytes = descriptorBytes - 3*8
)

// page is the beginning of a segment. Each word has a cache line of its own: the other
// side reads one often while it is changed seldom, or the other way round.
type page struct {
	// published is the position behind the last descriptor that may be read.
	published atomic.Uint64
	_         [56]byte

	// wanted is the position at which the other side, when it has read so far, wakes
	// this one.
	wanted atomic.Uint64
	_      [56]byte

	// position is how far this side has read the ring of the other side.
	position atomic.Uint64
	_        [56]byte

	// sleep is odd while this side waits to be woken for what is published next. Each
	// sleep has its own number, so that the other side wakes it once.
	sleep atomic.Uint64
	_     [56]byte

	// final is 0 until this side has closed in order. Then it is 1 more than the
	// position up to which the other side may read.
	final atomic.Uint64
	_     [56]byte

	// stopped is not 0 when this side will not look at memory any more that the other
	// side has lent to it.
	stopped atomic.Uint64
}

// set writes a word of the own page, before this side looks at the page of the other one.
//
// It is no Store: one of memory that the race detector does not know orders less than
// others do, and may come behind the look.
func set(word *atomic.Uint64, v uint64) { word.Swap(v) }

// pageOf returns the page of a segment.
func pageOf(mem []byte) *page { return (*page)(unsafe.Pointer(unsafe.SliceData(mem))) }

// shape is the size of a segment.
type shape struct {
	slots int // a power of two
	arena int // bytes
}

const (
	minSlots = 16
	maxSlots = 1 << 16
	minArena = 16 << 10
	maxArena = 1 << 30
)

// bytes returns the size of the segment.
func (s shape) bytes() int { return s.ringEnd() + s.arena }

// ringEnd returns the offset behind the descriptors.
func (s shape) ringEnd() int { return pageBytes + s.slots*descriptorBytes }

// valid reports whether there can be a segment of this shape.
func (s shape) valid() bool {
	return s.slots >= minSlots && s.slots <= maxSlots && s.slots&(s.slots-1) == 0 &&
		s.arena >= minArena && s.arena <= maxArena && s.arena%pageBytes == 0
}

// place says in which memory a piece of a message is.
type place uint8

const (
	nowhere  place = iota // the inline bytes are all
	inArena               // of the segment
	inRegion              // the memory that the sender lends
)

// descriptor is a piece of a message:
//
//	offset  bytes  content
//	0       4      size of the message; 0: this piece continues it
//	4       4      n, the bytes of the piece behind the inline ones
//	8       8      where they are, an offset
//	16      1      in which memory: a place
//	17      1      i, the number of inline bytes
//	18      6      zero
//	24      40     the inline bytes, of which i count
//
// Integers are in the byte order of the host.
type descriptor struct {
	size   uint32
	n      uint32
	offset uint64
	place  place
	inline uint8
	bytes  [inlineBytes]byte
}

// put writes d where the other side will read it when it is published.
func (d *descriptor) put(mem []byte) {
	_ = mem[descriptorBytes-1]
	binary.NativeEndian.PutUint32(mem, d.size)
	binary.NativeEndian.PutUint32(mem[4:], d.n)
	binary.NativeEndian.PutUint64(mem[8:], d.offset)
	binary.NativeEndian.PutUint64(mem[16:], uint64(d.place)|uint64(d.inline)<<8)
	copy(mem[24:descriptorBytes], d.bytes[:d.inline])
}

// slot is a descriptor as the reader sees it. Its writer may change it at any time, so
// each word is read once.
type slot [descriptorWords]atomic.Uint64

// slotAt returns a descriptor of a ring.
func slotAt(ring []byte, i uint64) *slot {
	return (*slot)(unsafe.Pointer(&ring[i*descriptorBytes]))
}

// load reads s once.
func (s *slot) load() (d descriptor) {
	sizes, where := s[0].Load(), s[2].Load()
	var head [8]byte
	binary.NativeEndian.PutUint64(head[:], sizes)
	d.size, d.n = binary.NativeEndian.Uint32(head[:]), binary.NativeEndian.Uint32(head[4:])
	d.offset = s[1].Load()
	d.place, d.inline = place(where), uint8(where>>8)
	for i := range (min(int(d.inline), inlineBytes) + 7) / 8 {
		binary.NativeEndian.PutUint64(d.bytes[i*8:], s[3+i].Load())
	}
	return d
}

// check reports what is impossible in d, as the next piece of a message.
//
//   - have, size: how much of which size is there already; size 0: d begins a message.
//   - limit: of a new message.
//   - arena, region: the sizes of the memory.
//
// The size of a new message is not judged: it is netio.ErrMessageLength.
func (d *descriptor) check(have, size, limit, arena, region uint64) error {
	length := uint64(d.n) + uint64(d.inline)
	if size == 0 {
		size = uint64(d.size)
		if size == 0 || size > limit {
			return nil
		}
	} else if d.size != 0 {
		return fmt.Errorf("%w: a message of %d bytes begins within one of %d", ErrProtocol, d.size, size)
	}
	var room uint64
	switch d.place {
	case nowhere:
	case inArena:
		room = arena
	case inRegion:
		room = region
	default:
		return fmt.Errorf("%w: a piece in memory of kind %d", ErrProtocol, d.place)
	}
	switch {
	case d.inline > inlineBytes:
		return fmt.Errorf("%w: %d bytes inline, want up to %d", ErrProtocol, d.inline, inlineBytes)
	case length == 0:
		return fmt.Errorf("%w: an empty piece", ErrProtocol)
	case length > size-have:
		return fmt.Errorf("%w: a piece of %d bytes, want up to %d: so much is missing of the message", ErrProtocol, length, size-have)
	case uint64(d.n) > room || d.offset > room-uint64(d.n):
		return fmt.Errorf("%w: %d bytes at offset %d of %d", ErrProtocol, d.n, d.offset, room)
	}
	return nil
}
