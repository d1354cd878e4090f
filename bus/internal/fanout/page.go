// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"tagbus/bus/internal/arena"
	"tagbus/bus/internal/wire"
	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/tags"
)

// page is one page's worth of messages on its way. Its memory is a run of the arena: one
// piece, or several for a large message. It is written under the mutex of its stream until
// it is sealed, and only read from then on.
type page struct {
	key      netio.Key
	one      [1][]byte    // the memory, if it is one piece
	chunk    *arena.Chunk // in which the first piece is
	more     *pieces      // nil: the page has never had more than one piece
	bytes    int          // on the wire
	messages uint32
	refs     atomic.Int32 // lanes that have yet to send it
	receipt  *Receipt     // of the last message, if a caller waits for it to be handled
}

// pieces is what only pages of one large message have.
type pieces struct {
	vector [][]byte            // all of the page; empty: it is one piece
	chunks []*arena.Chunk      // of those behind the first
	lent   bool                // the last one is, and is not copied
	done   func()              // gives it back; nil: it is a chunk
	sum    invariants.Checksum // of the last one, if it is lent
}

// vector returns the memory of a sealed page in order.
func (p *page) vector() [][]byte {
	if p.large() {
		return p.more.vector
	}
	return p.one[:]
}

// large reports whether the page has several pieces.
func (p *page) large() bool { return p.more != nil && len(p.more.vector) > 0 }

// grow returns the pieces of a page that is going to have several.
func (p *page) grow() *pieces {
	if p.more == nil {
		p.more = &pieces{}
	}
	return p.more
}

// take gives a new page its memory.
func (p *page) take(run []arena.Piece) {
	p.one[0], p.chunk, p.receipt = run[0].Mem, run[0].Chunk, nil
	if len(run) == 1 {
		return
	}
	more := p.grow()
	for _, x := range run {
		more.vector = append(more.vector, x.Mem)
		more.chunks = append(more.chunks, x.Chunk)
	}
	more.chunks = slices.Delete(more.chunks, 0, 1)
}

// put copies data into the memory of a large page, from a place in it on, and returns
// the place behind them.
func (p *page) put(at place, data []byte) place {
	for {
		n := copy(p.more.vector[at.piece][at.offset:], data)
		at.offset += n
		if data = data[n:]; len(data) == 0 {
			return at
		}
		at = place{piece: at.piece + 1}
	}
}

// place is one in the memory of a large page.
type place struct{ piece, offset int }

// complete makes the output of a writer ready to be sent. It returns how much of the
// last piece of the arena is written.
//
//   - end: of what was put into a large page.
func (p *page) complete(w *wire.Writer, end place) (written int) {
	p.messages, p.bytes = w.Messages, wire.HeaderBytes
	written = len(w.Mem)
	switch {
	case !p.large():
		p.one[0] = w.Mem
	case p.more.lent:
		if len(p.more.vector) == 1 {
			written = 0
		}
	default:
		written = p.cut(end)
	}
	for _, piece := range p.vector() {
		p.bytes += len(piece)
	}
	return written
}

// cut ends a large page, and returns how much of its last piece is written: nothing if
// the overhead of the message was so small that the piece before was enough.
func (p *page) cut(end place) (written int) {
	if all := p.more.vector; end.piece == len(all)-1 {
		written = end.offset
	}
	p.more.vector[end.piece] = p.more.vector[end.piece][:end.offset]
	p.more.vector = p.more.vector[:end.piece+1]
	return written
}

// lend makes the page one with a payload that is not copied: of two pieces, or of one if the header has room before
// the payload.
func (p *page) lend(header []byte, x payload) {
	more := p.grow()
	if at := x.front - len(header); at >= 0 {
		copy(x.mem[at:], header)
		more.vector = append(more.vector, x.mem[at:])
	} else {
		more.vector = append(more.vector, header, x.data())
	}
	more.lent, more.done = true, x.done
	if x.chunk != nil {
		more.chunks = append(more.chunks, x.chunk)
	}
	more.sum.Take(more.vector[len(more.vector)-1])
}

// tags calls f once for each run of messages of one tag in a sealed page.
func (p *page) tags(f func(tag tags.Tag, count uint64)) {
	wire.Tags(p.vector()[0], p.messages, f) // a page of several pieces has only one message
}

// release gives up one reference to a page; the last one frees its memory.
func (fan *Fanout) release(p *page) {
	if p.refs.Add(-1) > 0 {
		return
	}
	first := p.chunk
	if p.large() {
		more := p.more
		if more.sum.Changed(more.vector[len(more.vector)-1]) {
			panic("tagbus: the payload of a message was written to while it was lent")
		}
		if more.done != nil {
			fan.loans.add(more.done)
		}
		for _, c := range more.chunks {
			c.Release()
		}
		clear(more.vector)
		more.vector, more.chunks, more.lent, more.done = more.vector[:0], more.chunks[:0], false, nil
	}
	p.one[0], p.receipt = nil, nil
	fan.pages.put(p)
	first.Release()
	fan.memoryFreed()
}

// memoryFreed wakes the callers that wait for memory, if there are some: as in Lane.unpin.
func (fan *Fanout) memoryFreed() {
	if fan.dry.Load() && fan.dry.Swap(false) {
		fan.roomFreed()
	}
}

// pageStateBytes is the memory that Init takes for each buffer of the pool.
const pageStateBytes = int(unsafe.Sizeof(page{})+unsafe.Sizeof((*page)(nil))) + arena.StateBytes

const (
	pageSlab  = 64 // pages that are made together
	pageBytes = 64 // of the pool for each page that there may be: more pages are very short ones
)

// pageList has the pages that are not in use. As long as pages are as long as buffers,
// it has enough of them. Of shorter ones it makes more.
type pageList struct {
	mu   sync.Mutex
	free []*page
	made int
	most int
}

// init makes n pages.
//
//   - most: that there may be at any time.
func (l *pageList) init(n, most int) {
	l.most = max(n, most)
	l.make(n)
}

// make makes up to n pages. mu is held.
func (l *pageList) make(n int) {
	slab := make([]page, min(n, l.most-l.made))
	for i := range slab {
		slab[i].key = netio.Key(l.made + i)
		l.free = append(l.free, &slab[i])
	}
	l.made += len(slab)
}

// get returns a page, or nil if all are in use.
//
//   - must: one more is made then.
func (l *pageList) get(must bool) *page {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) == 0 {
		if must && l.made == l.most {
			l.most++
		}
		if l.make(pageSlab); len(l.free) == 0 {
			return nil
		}
	}
	last := len(l.free) - 1
	p := l.free[last]
	l.free = l.free[:last]
	return p
}

// put takes a page back.
func (l *pageList) put(p *page) {
	l.mu.Lock()
	l.free = append(l.free, p)
	l.mu.Unlock()
}
