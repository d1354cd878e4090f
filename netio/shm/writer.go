// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// writer fills the ring of this side.
//
// Threads: one at a time, under the mutex of the queue.
type writer struct {
	shape  shape
	mem    []byte // the segment; nil: not yet, or no more
	page   *page
	ring   []byte
	arena  []byte
	region region
	peer   *page // of the other side; it is checked
	fd     int   // of the socket, by which the other side is woken

	tail      uint64 // the next descriptor
	published uint64
	read      uint64 // by the other side
	wanted    uint64
	filled    uint64 // bytes of the arena since the beginning, with those left out
	freed     uint64 // of them, that the other side has read
	marks     []mark // of the descriptors
	lent      uint64 // behind the last descriptor that names the region
	woken     uint64 // the sleep of which the other side was woken
	trouble   bool   // the system had no memory to wake it
}

// mark is what a writer remembers of a descriptor.
type mark struct {
	filled uint64 // of the arena, behind it
	lent   bool   // it names the region
}

// open begins to use a segment.
func (w *writer) open(s shape, mem []byte, r region, peer *page, fd int) {
	w.shape, w.mem, w.region, w.peer, w.fd = s, mem, r, peer, fd
	w.page = pageOf(mem)
	w.ring, w.arena = mem[pageBytes:s.ringEnd()], mem[s.ringEnd():s.bytes()]
	w.marks = make([]mark, s.slots)
}

// mask makes of a position the place in the ring.
func (w *writer) mask() uint64 { return uint64(w.shape.slots - 1) }

// look reads the position of the other side. Errors: ErrProtocol, wrapped.
func (w *writer) look() error {
	at := w.peer.position.Load()
	switch {
	case at == w.read:
		return nil
	case at < w.read || at > w.published:
		return fmt.Errorf("%w: its position is %d, want %d to %d", ErrProtocol, at, w.read, w.published)
	}
	w.read = at
	w.freed = max(w.freed, w.marks[(at-1)&w.mask()].filled) // room may have gone further
	return nil
}

// put puts as much of m into the segment as there is room for. It reports whether that
// was all. What was put is not published yet.
func (w *writer) put(m *message) (done bool) {
	for m.left() > 0 {
		if w.tail-w.read == uint64(w.shape.slots) {
			return false
		}
		if !w.putPiece(m) {
			return false
		}
	}
	return true
}

// putPiece fills one descriptor. It reports whether there was room in the arena.
func (w *writer) putPiece(m *message) bool {
	var d descriptor
	if !m.begun {
		d.size = uint32(m.size)
	}
	n, headerOnly := m.run(w.region)
	switch {
	case n > 0 && n <= inlineBytes && (n == m.left() || headerOnly):
		d.inline = uint8(n)
		m.copyTo(d.bytes[:n])
	case n > 0:
		at, chunk := w.room(n)
		if chunk == nil {
			return false
		}
		m.copyTo(chunk)
		d.place, d.offset, d.n = inArena, at, uint32(len(chunk))
	}
	lent := false
	if d.place == nowhere && m.left() > 0 {
		m.begun = true
		piece := m.piece()
		at, _ := w.region.find(piece)
		d.place, d.offset, d.n = inRegion, at, uint32(len(piece))
		m.offset += len(piece)
		m.put += len(piece)
		lent = true
	}
	slot := w.tail & w.mask()
	d.put(w.ring[slot*descriptorBytes:])
	w.marks[slot] = mark{w.filled, lent}
	w.tail++
	if lent {
		w.lent = w.tail
	}
	return true
}

// room takes n bytes of the arena, in one piece if they are no more than half of it, else
// a part of them. It returns nil if there is no room yet. When the other side has read
// all there is room.
func (w *writer) room(n int) (at uint64, chunk []byte) {
	size := uint64(len(w.arena))
	want := uint64(n)
	if want > size/2 {
		want = size / 4
	}
	if w.filled == w.freed { // none is in use
		w.filled = (w.filled + size - 1) / size * size
		w.freed = w.filled
	}
	at = w.filled % size
	free := size - (w.filled - w.freed)
	if want > size-at { // the end is left out
		if free < size-at+want {
			return 0, nil
		}
		w.filled += size - at
		at = 0
	} else if want > free {
		return 0, nil
	}
	const align = 8
	w.filled += min((want+align-1)/align*align, size-at)
	return at, w.arena[at : at+want : at+want]
}

// publish lets the other side read what was put, and wakes it if it sleeps.
func (w *writer) publish() {
	if w.published != w.tail {
		w.published = w.tail
		set(&w.page.published, w.tail)
	} else if !w.trouble {
		return
	}
	w.trouble = false
	// The other side says first that it sleeps, and then looks again. So one of the two
	// sees what the other has done.
	if s := w.peer.sleep.Load(); s&1 == 1 && s != w.woken {
		w.woken = s
		if !wake(w.fd) {
			w.trouble, w.woken = true, 0
		}
	}
}

// await makes the other side wake this one when it has read up to a position. It reports
// whether it has, by now.
func (w *writer) await(position uint64) (read bool, err error) {
	if w.wanted != position {
		w.wanted = position
		set(&w.page.wanted, position)
	}
	err = w.look()
	return w.read >= position, err
}

// awaits reports whether the other side is going to wake this one.
func (w *writer) awaits() bool { return w.wanted > w.read }

// unread reports whether the other side has yet to read something that it was lent.
func (w *writer) unread() bool { return w.lent > w.read }

// lends reports whether the other side may look at the region.
func (w *writer) lends() bool { return w.unread() && w.peer.stopped.Load() == 0 }

// finish says that nothing more is published, and up to where the other side may read:
// what it was lent from there on is not its own any more.
func (w *writer) finish() {
	_ = w.look() // what it says is of no importance any more
	final := w.read
	for final != w.published && !w.marks[final&w.mask()].lent {
		final++
	}
	set(&w.page.final, final+1)
}

// wake sends the other side something to read. It reports false if the system has no
// memory for that: then it is to be done again.
func wake(fd int) bool {
	one := byte(1)
	for {
		_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&one)), 1,
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case unix.EINTR:
		case unix.ENOMEM, unix.ENOBUFS:
			return false
		default: // with EAGAIN it has not read what woke it before; else it has gone
			return true
		}
	}
}

// drain reads what has woken this side, up to some limit.
//
//   - all: there is no more.
//   - files: the other side has passed some, which this side does not keep.
func drain(fd int, control *rightsBuffer) (all, files bool) {
	var junk [256]byte
	n, m, _, errno := receive(fd, junk[:], control)
	if m > 0 {
		passed := rights(control[:m])
		discard(passed)
		files = len(passed) > 0
	}
	return errno != 0 || n < len(junk), files
}

// address returns where memory is.
func address(mem []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) }
