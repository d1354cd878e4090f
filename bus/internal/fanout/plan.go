package fanout

import (
	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/wire"
)

// replayLayer is the room that the nth newest messages of all tags take.
type replayLayer struct {
	bytes   int // of those that certainly share a page with others
	largest int // of those
	pages   int // of the others, as if each had pages of its own
	others  int
}

// plan determines how many messages of each measured tag there is room for: as many of
// one tag as of another, so that all have their newest. Mu is held.
func (r *replay) plan() {
	room := r.room()
	if room <= 0 {
		return
	}
	var sum replayLayer
	pages := 0
	for _, l := range r.layers {
		sum.bytes, sum.pages, sum.others = sum.bytes+l.bytes, sum.pages+l.pages, sum.others+l.others
		sum.largest = max(sum.largest, l.largest)
		n := sum.most(r.pageRoom())
		if n > room {
			break
		}
		pages = n
		r.most++
	}
	if len(r.layers) > 0 && r.most == 0 { // no room for one of each: then for the first ones
		r.most, pages = 1, room
	}
	r.layers = nil
	r.reserve(pages)
}

// most returns the largest number of pages of a layer. A page is closed when a message
// does not fit. Before a small message less than the size of the largest one is unused.
// Before one of the others any part of the page may be unused.
func (l *replayLayer) most(pageRoom int) (pages int) {
	pages = l.pages
	if l.bytes > 0 {
		pages += l.others + 1 + l.bytes/(pageRoom-l.largest)
	}
	return pages
}

// measure adds the messages of a tag to the layers, as far as there can be room for as
// many. It returns the cost. Mu is held.
func (r *replay) measure(e *tagmap.Entry[tagState]) (steps int) {
	s := e.Value.route.Load().streams[0]
	s.mu.Lock()
	want := r.wanted(e.Tag, e.Value.count)
	s.mu.Unlock()
	room := max(r.room(), 0)
	c := r.fan.cache.Lock()
	defer c.Unlock()
	m, kept := c.Last(e.Value.line)
	n := min(uint64(want), uint64(kept), uint64(room*(1+r.pageRoom()/wire.MaxOverhead)))
	for i := range int(n) {
		if i == len(r.layers) {
			r.layers = append(r.layers, replayLayer{})
		}
		l := &r.layers[i]
		if cost, pages := r.cost(c, m); cost > r.pageRoom()/3 {
			l.pages += pages
			l.others++
		} else {
			l.bytes += cost
			l.largest = max(l.largest, cost)
		}
		m = c.Before(m)
	}
	return r.claims.steps() + int(n)/4
}

// cost returns the bytes that a message surely takes at most in a page, and the
// buffers of the page.
func (r *replay) cost(c cache.Reader, m uint32) (bytes, pages int) {
	n := c.Size(m)
	if r.lane.alone() {
		n += wire.PositionBytes
	}
	return n + wire.MaxOverhead, r.fan.pageSize(n)
}

// pageRoom returns the bytes of a page that messages may take.
func (r *replay) pageRoom() int { return r.fan.pageBytes - wire.HeaderBytes }

// room returns how many buffers a replay may take: at most half of those that the lane
// may hold, so that live messages find room too, and half of the free pool, so that the
// other lanes do.
func (r *replay) room() int {
	n := r.lane
	pages := min(n.limit-n.pinned.Load(), (n.limit+1)/2, int64(r.fan.pool.Free()/2))
	if !n.Policy.Lossless() {
		pages = min(pages, r.fan.lossyPages-r.fan.lossyPinned.Load())
	}
	return int(pages)
}

// reserve takes room, or none if others were faster.
func (r *replay) reserve(pages int) {
	fan := r.fan
	fan.openMu.Lock()
	defer fan.openMu.Unlock()
	if pages > r.room() {
		return
	}
	var ok bool
	if r.spare, ok = fan.pool.GetAll(nil, pages); ok {
		r.lane.pin(int64(pages))
	}
}
