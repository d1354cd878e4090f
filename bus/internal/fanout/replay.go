package fanout

import (
	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// replay sends messages of the cache to a lane that has just begun to want their tags.
// They go behind the acknowledgement and before the pages that are held back. The
// acknowledged position is the one before the first of them, so they count like all
// others.
//
// The order of things: measure looks at each tag. plan decides how
// many messages of each there is room for, and reserves the room. take copies those of
// one tag, while its route is locked. finish gives back the rest of the room.
type replay struct {
	fan    *Fanout
	lane   *Lane
	claims claims

	layers   []replayLayer   // of what would be sent if there were room
	most     uint32          // messages of a tag that there is room for
	spare    []*netio.Buffer // the room
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
	if r == nil || len(r.spare) == 0 && r.page == nil {
		return at
	}
	c := r.fan.cache.Lock()
	defer c.Unlock()
	m, n := c.Newest(e.Value.line, min(r.wanted(e.Tag, e.Value.count), r.most))
	for n > 0 && r.needs(c, m) > len(r.spare) {
		m, n = c.Newest(e.Value.line, n/2)
	}
	at.Count -= uint64(n)
	for i := range uint64(n) {
		r.add(c, e.Tag, at.Count+1+i, m)
		m = c.After(m)
	}
	r.messages += uint64(n)
	return at
}

// needs returns how many further buffers a message and those behind it take.
func (r *replay) needs(c cache.Reader, m uint32) (pages int) {
	left := 0
	if r.page != nil {
		left = cap(r.writer.Mem) - len(r.writer.Mem)
	}
	for ; m != 0; m = c.After(m) {
		switch cost, own := r.cost(c, m); {
		case own > 1:
			pages += own
			left = 0
		case cost > left:
			pages++
			left = r.pageRoom() - cost
		default:
			left -= cost
		}
	}
	return pages
}

// add copies a message into a page.
func (r *replay) add(c cache.Reader, tag tags.Tag, position uint64, m uint32) {
	_, pages := r.cost(c, m)
	w := &r.writer
	if r.page != nil && (pages > 1 || !w.Fits(c.Size(m))) {
		r.seal()
	}
	if r.page == nil {
		r.page = r.fan.newPage(extent{pages, int64(pages)}, r.spare[:pages])
		r.spare = r.spare[pages:]
		w.Reset(r.page.buffers[0].Bytes())
		w.Positions = r.lane.alone()
	}
	w.Header(tag, c.Status(m), position, c.Size(m))
	if pages == 1 {
		c.Pieces(m, func(piece []byte) { w.Mem = append(w.Mem, piece...) })
		return
	}
	r.page.start(len(w.Mem))
	at := 0
	c.Pieces(m, func(piece []byte) { at = r.page.put(at, piece) })
	r.seal()
}

// seal ends the page under construction.
func (r *replay) seal() {
	r.page.complete(&r.writer)
	r.page.refs.Store(1)
	r.pages = append(r.pages, r.page)
	r.page = nil
}

// finish gives back the rest of the room and returns the pages.
func (r *replay) finish() []*page {
	if r == nil {
		return nil
	}
	if r.page != nil {
		r.seal()
	}
	for _, b := range r.spare {
		b.Release()
	}
	if len(r.spare) > 0 {
		r.lane.unpin(int64(len(r.spare)))
		r.fan.roomFreed()
	}
	r.spare = nil
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
