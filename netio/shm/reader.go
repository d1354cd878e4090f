// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"fmt"

	"tagbus/netio"
)

// reader reads the ring of the other side, which may be hostile: it reads each word of it
// once, and checks it.
//
// Threads: the loop.
type reader struct {
	page   *page // of this side
	peer   *page
	slots  uint64
	ring   []byte
	arena  []byte
	region []byte // that the other side lends; nil: none

	limit uint64 // of the next message
	max   uint64 // of all but the first

	position  uint64
	told      uint64 // what the other side was told of it
	published uint64 // seen last
	answered  uint64 // the last position that was wanted and reached
	current   descriptor

	size uint64 // of the message of which a part is there; 0: none is
	have uint64
}

// open begins to read a segment of the other side. p has no zero fields.
func (r *reader) open(own *page, s shape, mem, region []byte, p netio.ReceiveParams) {
	r.page, r.peer, r.slots = own, pageOf(mem), uint64(s.slots)
	r.ring, r.arena, r.region = mem[pageBytes:s.ringEnd()], mem[s.ringEnd():s.bytes()], region
	r.limit, r.max = uint64(p.FirstMessageBytes), uint64(p.MaxMessageBytes)
}

// look learns what the other side has published. It returns the number of descriptors to
// be read. Errors: ErrProtocol, wrapped.
func (r *reader) look() (n uint64, err error) {
	final := r.peer.final.Load() // first: behind it nothing is published
	published := r.peer.published.Load()
	if published < r.published || published-r.position > r.slots {
		return 0, fmt.Errorf("%w: it has published up to %d, want %d to %d", ErrProtocol, published, r.published, r.position+r.slots)
	}
	r.published = published
	if final == 0 {
		return published - r.position, nil
	}
	return max(min(published, final-1), r.position) - r.position, nil
}

// next returns the next piece, which is there: bytes in front, and bytes behind them.
// They are valid until the next call of next, and until advance.
//
// Errors: netio.ErrMessageLength and ErrProtocol, wrapped.
func (r *reader) next() (front, data []byte, err error) {
	d := &r.current
	*d = slotAt(r.ring, r.position&(r.slots-1)).load()
	if r.size == 0 && (d.size == 0 || uint64(d.size) > r.limit) {
		return nil, nil, fmt.Errorf("%w: %d bytes, want 1 to %d", netio.ErrMessageLength, d.size, r.limit)
	}
	if err := d.check(r.have, r.size, r.limit, uint64(len(r.arena)), uint64(len(r.region))); err != nil {
		return nil, nil, err
	}
	if r.size == 0 {
		r.size, r.limit = uint64(d.size), r.max
	}
	switch d.place {
	case nowhere:
	case inArena:
		data = r.arena[d.offset:][:d.n:d.n]
	case inRegion:
		data = r.region[d.offset:][:d.n:d.n]
	}
	r.have += uint64(d.n) + uint64(d.inline)
	return d.bytes[:d.inline:d.inline], data, nil
}

// whole reports whether the last piece is the last of its message, and ends the message
// then.
func (r *reader) whole() bool {
	if r.have < r.size {
		return false
	}
	r.have, r.size = 0, 0
	return true
}

// partial reports whether a message is there in part.
func (r *reader) partial() bool { return r.size > 0 }

// advance says that the memory of the piece is not needed any more.
func (r *reader) advance() { r.position++ }

// tell tells the other side how far this one has read. It reports whether the other side
// is to be woken.
func (r *reader) tell() (wake bool) {
	if r.told == r.position {
		return false
	}
	r.told = r.position
	set(&r.page.position, r.position)
	wanted := r.peer.wanted.Load()
	if wanted <= r.answered || wanted > r.position {
		return false
	}
	r.answered = wanted
	return true
}

// news reports whether the other side has published more than was seen, or has closed.
func (r *reader) news() bool {
	return r.peer.published.Load() != r.published || r.peer.final.Load() != 0
}

// sleep says that this side has read all, and is to be woken. It reports whether there is
// more, by now: then it is not asleep.
//
// The number is new even if this side was asleep before: it may have been woken for what
// it had read already, and that was the one time for the old number.
func (r *reader) sleep() (more bool) {
	s := r.page.sleep.Load()
	set(&r.page.sleep, s+1+s&1)
	if r.peer.published.Load() == r.published {
		return false
	}
	r.awake()
	return true
}

// awake undoes sleep. The next one has another number.
func (r *reader) awake() {
	if s := r.page.sleep.Load(); s&1 == 1 {
		set(&r.page.sleep, s+1)
	}
}

// closed reports whether the other side has closed in order, and stops this one to look
// at what it is lent. wake: the other side may be waiting for that.
func (r *reader) closed() (closed, wake bool) {
	if r.peer.final.Load() == 0 {
		return false, false
	}
	if r.page.stopped.Load() != 0 {
		return true, false
	}
	set(&r.page.stopped, 1)
	return true, true
}
