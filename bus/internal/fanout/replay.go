// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"tagbus/bus/internal/arena"
	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// replay sends messages of the cache to a lane that has just begun to want their tags.
// They go behind the acknowledgement and before the pages that are held back. The
// acknowledged position is the one before the first of them, so they count like all
// others.
//
// The order of things: measure looks at each tag. plan decides how many messages of each
// there is room for, and reserves the room and the memory. take copies those of one tag,
// while its route is locked, and reserves more for what has come since. finish gives back
// the rest.
type replay struct {
	fan    *Fanout
	lane   *Lane
	claims claims

	layers   []replaySum // bytes that the newest messages of all tags take, the second newest, and so on
	most     uint32      // messages of a tag that there is room for; allOf: there was room for all
	reserved int64       // bytes
	held     int64       // of these, what is not used
	tail     arena.Tail  // memory for them
	run      []arena.Piece
	writer   wire.Writer
	page     *page   // under construction
	pages    []*page // complete, in order
	messages uint64
	counted  uint64 // of these, those that copied has returned
}

// wanted returns how many messages of a tag the subscriber should get. It must not get
// a message again. Lossy policies do not make up for missed messages, since some of
// them may be accounted for as lost already.
func (r *replay) wanted(tag tags.Tag, count uint64) uint32 {
	want, resume := r.claims.of(tag)
	switch {
	case resume && r.lane.Policy.Lossless():
		want = count - min(count, r.claims.standing(tag))
	case resume:
		want = 0
	case r.lane.Policy.Kind == subscription.Latest:
		want = min(want, 1)
	}
	return uint32(min(want, uint64(r.fan.cache.Depth())))
}

// take copies the messages of a tag and returns the position before the first of them.
// The tag's route is locked, so none can be added. The oldest may be gone since plan. A
// nil replay copies nothing.
func (r *replay) take(e *tagmap.Entry[tagState]) subscription.Position {
	at := subscription.Position{Tag: e.Tag, Count: e.Value.count}
	if r == nil || r.most == 0 {
		return at
	}
	line, want := e.Value.line, min(r.wanted(e.Tag, e.Value.count), r.most)
	room := int64(0)
	if r.most == allOf {
		room = max(0, r.room())
	}
	c := r.fan.cache.Lock()
	m, n, more := r.fitting(c, line, want, room)
	if more > 0 {
		c.Unlock()
		r.reserve(more)
		c = r.fan.cache.Lock()
		m, n, _ = r.fitting(c, line, want, 0)
	}
	defer c.Unlock()
	at.Count -= uint64(n)
	for i := range uint64(n) {
		r.add(c, e.Tag, at.Count+1+i, m)
		m = c.After(m)
	}
	r.messages += uint64(n)
	return at
}

// fitting returns how many of the newest messages of a tag what is held suffices for, with the oldest of these, and how
// many bytes more the others take that room is enough for.
func (r *replay) fitting(c cache.Reader, line, want uint32, room int64) (first, n uint32, more int64) {
	m, kept := c.Last(line)
	sum := replaySum{bytes: len(r.writer.Mem)} // of the page under construction
	for i := range min(want, kept) {
		sum.add(r.fan, r.cost(c, m))
		lacks := max(0, sum.total(r.fan)-r.held)
		if lacks > room {
			break
		}
		if more = lacks; more == 0 {
			first, n = m, i+1
		}
		m = c.Before(m)
	}
	return first, n, more
}

// add copies a message into a page.
func (r *replay) add(c cache.Reader, tag tags.Tag, position uint64, m uint32) {
	w := &r.writer
	if r.page != nil && !w.Fits(c.Size(m)) {
		r.seal(place{})
	}
	if r.page == nil {
		r.begin(r.cost(c, m))
	}
	w.Header(tag, wire.Status(c.Status(m)), position, c.Size(m))
	if !r.page.large() {
		c.Pieces(m, func(piece []byte) { w.Mem = append(w.Mem, piece...) })
		return
	}
	at := place{offset: len(w.Mem)}
	c.Pieces(m, func(piece []byte) { at = r.page.put(at, piece) })
	r.seal(at)
}

// begin begins a page for a message of so many bytes. The memory of reserve is enough.
func (r *replay) begin(bytes int) {
	r.run, _ = r.fan.arena.Take(r.run[:0], &r.tail, bytes)
	r.page = r.fan.pages.get(true)
	r.page.take(r.run)
	arena.Warm(r.run...)
	mem := r.page.one[0]
	r.writer.Positions = r.lane.alone()
	r.writer.Reset(mem[:0:min(len(mem), r.fan.cfg.PageBytes-wire.HeaderBytes)])
}

// seal ends the page under construction.
func (r *replay) seal(end place) {
	p := r.page
	r.fan.arena.Written(&r.tail, p.complete(&r.writer, end))
	p.refs.Store(1)
	r.held -= int64(p.bytes)
	r.lane.countPage(1)
	r.pages = append(r.pages, p)
	r.page, r.writer.Mem = nil, nil
}

// finish gives back the rest of the room and returns the pages.
func (r *replay) finish() []*page {
	if r == nil {
		return nil
	}
	if r.page != nil {
		r.seal(place{})
	}
	r.fan.arena.Leave(&r.tail)
	if r.held > 0 {
		r.lane.unpin(r.held)
		r.held = 0
		r.fan.roomFreed()
	}
	r.fan.memoryFreed()
	r.fan.replayed.Add(r.messages)
	return r.pages
}

// copied returns how many messages were copied since the last call.
func (r *replay) copied() (n uint64) {
	n, r.counted = r.messages-r.counted, r.messages
	return n
}

// abandon gives back all room when the connection ends.
func (r *replay) abandon() {
	for _, p := range r.finish() {
		r.lane.drop(p)
	}
}
