// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"math"

	"tagbus/bus/internal/arena"
	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/wire"
)

// replaySum is what messages take in pages, at most.
type replaySum struct {
	bytes int // without headers of pages
	large int // messages that may be alone in a page
}

// add adds a message that takes n bytes.
func (x *replaySum) add(fan *Fanout, n int) {
	if x.bytes += n; n > fan.cfg.PageBytes/arena.WasteShare {
		x.large++
	}
}

// total returns how many bytes the messages take with the headers of the pages. One page
// begins in each buffer, and two with each large message.
func (x *replaySum) total(fan *Fanout) int64 {
	pages := fan.arena.Buffers(x.bytes) + 2*x.large + 1
	return int64(x.bytes + pages*wire.HeaderBytes)
}

// plan determines how many messages of each measured tag there is room for: as many of
// one tag as of another, so that all have their newest. Mu is held.
func (r *replay) plan() {
	room := r.room()
	if room <= 0 {
		return
	}
	bytes, sum, all := int64(0), replaySum{}, true
	for _, layer := range r.layers {
		sum.bytes, sum.large = sum.bytes+layer.bytes, sum.large+layer.large
		n := sum.total(r.fan)
		if all = n <= room; !all {
			break
		}
		bytes = n
		r.most++
	}
	switch {
	case all:
		r.most = allOf
	case r.most == 0: // no room for one of each: then for the first ones
		r.most, bytes = 1, room
	}
	r.layers = nil
	if bytes > 0 && !r.reserve(bytes) {
		r.most = 0
	}
}

// allOf is more messages than there are.
const allOf = math.MaxUint32

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
	n := min(uint64(want), uint64(kept), uint64(room/wire.PlainBytes+1))
	for i := range int(n) {
		if i == len(r.layers) {
			r.layers = append(r.layers, replaySum{})
		}
		r.layers[i].add(r.fan, r.cost(c, m))
		m = c.Before(m)
	}
	return r.claims.steps() + int(n)/4
}

// cost returns the bytes of a page that a message takes at most.
func (r *replay) cost(c cache.Reader, m uint32) int {
	n := c.Size(m) + wire.MaxOverhead
	if r.lane.alone() {
		n += wire.PositionBytes
	}
	return n
}

// room returns how many bytes more a replay may take: of all, at most half of those that the lane
// may hold, so that live messages find room too, and half of the free pool, so that the
// other lanes do.
func (r *replay) room() int64 {
	n, fan := r.lane, r.fan
	bytes := min(n.limit-n.pinned.Load(), (n.limit+1)/2-r.reserved, int64(fan.arena.Content(fan.pool.Free()/2-1)))
	if !n.Policy.Lossless() {
		bytes = min(bytes, fan.lossyRoom())
	}
	return bytes
}

// reserve takes room, or none if others were faster.
func (r *replay) reserve(bytes int64) (ok bool) {
	fan := r.fan
	fan.openMu.Lock()
	defer fan.openMu.Unlock()
	if bytes > r.room() || !fan.arena.Reserve(&r.tail, fan.arena.Buffers(int(bytes))) {
		return false
	}
	r.lane.pin(bytes)
	r.reserved, r.held = r.reserved+bytes, r.held+bytes
	return true
}
