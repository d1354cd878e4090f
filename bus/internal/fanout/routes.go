// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// routes has the routes of all tags, and the streams to which they lead. The cost of
// finding, making or dropping a route is proportional to its lanes, however many routes
// there are. Guarded by Fanout.Mu.
//
// Routes and streams are found by the mark of their lanes. Each lane has a random
// number, and the mark of a set is the exclusive or of these. So the mark of a set with
// one lane more or less is known without a look at the others.
type routes struct {
	byMark  map[uint64]*route    // those that tags use; others of a mark, next to never, by route.next
	streams map[uint64][]*stream // those of several lanes, or none, that routes use
	shared  int                  // streams of several lanes that tags use
	copies  int                  // of a message that are made at most for want of streams

	list  []*stream // all streams; topology.streams is a copy
	stale bool      // the copy is not of now
	order uint64    // of the newest stream
}

// newMark returns the mark of a new lane.
func newMark() uint64 { return rand.Uint64() }

// markOf returns the mark of a set of lanes.
func markOf(lanes []*Lane) (mark uint64) {
	for _, n := range lanes {
		mark ^= n.mark
	}
	return mark
}

// count changes the number of tags that use a route. The caller drops a route without
// tags.
func (rs *routes) count(r *route, by int) {
	used := r.tags > 0
	if r.tags += by; used == (r.tags > 0) {
		return
	}
	for _, s := range r.streams {
		before := s.used
		if s.used++; used {
			s.used = before - 1
		}
		if len(s.lanes) > 1 && (before == 0 || s.used == 0) {
			rs.shared += s.used - before
		}
	}
}

// routeTo finds or makes the route to a set of lanes. lanes ascend. The caller counts
// its tags. Mu is held.
func (fan *Fanout) routeTo(lanes []*Lane) *route {
	mark := markOf(lanes)
	for r := fan.routes.byMark[mark]; r != nil; r = r.next {
		if slices.Equal(r.lanes, lanes) {
			return r
		}
	}
	return fan.newRoute(mark, lanes)
}

// routeToggled returns the route of tags that lane n joins or leaves. Mu is held.
func (fan *Fanout) routeToggled(from *route, n *Lane) *route {
	mark := from.mark ^ n.mark
	for r := fan.routes.byMark[mark]; r != nil; r = r.next {
		if differsBy(r.lanes, from.lanes, n) {
			return r
		}
	}
	return fan.newRoute(mark, toggled(from.lanes, n))
}

// differsBy reports whether two sets of lanes, which ascend, differ by lane n and
// nothing else.
func differsBy(a, b []*Lane, n *Lane) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i, _ := slices.BinarySearchFunc(b, n, compareLanes)
	return len(a)+1 == len(b) && i < len(b) && b[i] == n && slices.Equal(a[:i], b[:i]) && slices.Equal(a[i:], b[i+1:])
}

// newRoute makes a route. Mu is held.
func (fan *Fanout) newRoute(mark uint64, lanes []*Lane) *route {
	r := &route{mark: mark, lanes: lanes}
	shared := fan.sharing(lanes, mark)
	r.streams = make([]*stream, 0, max(1, len(lanes)-len(shared)+1))
	if len(shared) > 0 || len(lanes) == 0 {
		r.streams = append(r.streams, fan.streamTo(shared))
	}
	if len(shared) < len(lanes) {
		for _, n := range lanes {
			if len(shared) > 0 && n == shared[0] {
				shared = shared[1:]
			} else {
				r.streams = append(r.streams, fan.streamOf(n))
			}
		}
		slices.SortFunc(r.streams, compareStreams)
	}
	if len(r.streams) == 1 {
		r.only = r.streams[0]
	}
	for _, s := range r.streams {
		s.routes++
	}
	for _, n := range lanes {
		n.routes++
	}
	if fan.routes.byMark == nil {
		fan.routes.byMark = make(map[uint64]*route)
	}
	r.next = fan.routes.byMark[mark]
	fan.routes.byMark[mark] = r
	return r
}

// copiesShare is the part of the pool's buffers that the pages of one message may take for
// want of streams. If it took all of them, the message could never be published.
const copiesShare = 4

// copiesOf returns how many copies of a message are made at most: of a small pool nearly
// all, but one.
func copiesOf(buffers int) int { return max(min(buffers/2, 8), buffers/copiesShare) }

// sharing returns those of lanes that are to share a stream. Mu is held.
func (fan *Fanout) sharing(lanes []*Lane, mark uint64) []*Lane {
	if len(lanes) <= 1 {
		return lanes
	}
	shared := lanes
	if slices.ContainsFunc(lanes, (*Lane).alone) {
		shared = slices.DeleteFunc(slices.Clone(lanes), (*Lane).alone)
		mark = markOf(shared)
	}
	few := len(shared) > 1 && len(shared) <= fan.routes.copies
	if few && fan.routes.shared >= fan.cfg.MaxStreams && fan.routes.stream(mark, shared) == nil {
		return nil
	}
	return shared
}

// stream returns the stream of a set of lanes, or nil.
func (rs *routes) stream(mark uint64, lanes []*Lane) *stream {
	for _, s := range rs.streams[mark] {
		if slices.Equal(s.lanes, lanes) {
			return s
		}
	}
	return nil
}

// streamTo finds or makes the stream of a set of lanes. Mu is held.
func (fan *Fanout) streamTo(lanes []*Lane) *stream {
	if len(lanes) == 1 {
		return fan.streamOf(lanes[0])
	}
	t := &fan.routes
	mark := markOf(lanes)
	s := t.stream(mark, lanes)
	if s == nil {
		s = fan.newStream(mark, lanes)
		if t.streams == nil {
			t.streams = make(map[uint64][]*stream)
		}
		t.streams[mark] = append(t.streams[mark], s)
	}
	return s
}

// streamOf is streamTo for a single lane. Mu is held.
func (fan *Fanout) streamOf(n *Lane) *stream {
	if n.own == nil {
		n.own = fan.newStream(n.mark, []*Lane{n})
	}
	return n.own
}

// newStream makes a stream that no route uses. Mu is held.
func (fan *Fanout) newStream(mark uint64, lanes []*Lane) *stream {
	t := &fan.routes
	t.order++
	s := &stream{fan: fan, mark: mark, order: t.order, lanes: lanes, closed: fan.stopped, held: make([]int64, len(lanes))}
	s.lossy = len(lanes) > 0 && !slices.ContainsFunc(lanes, func(n *Lane) bool { return n.Policy.Lossless() })
	s.cost = int64(firstCost) * int64(len(lanes))
	s.bulks = bulk{fill: int64(firstFill), send: int64(firstBulk)}
	if s.quick = fan.cfg.MaxMessageBytes; fan.cache != nil {
		s.quick = -1
	}
	if len(lanes) == 1 && lanes[0].alone() {
		s.solo = newSolo(s, lanes[0])
	}
	t.list, t.stale = append(t.list, s), true
	return s
}

// drop removes a route that no tag uses, and the streams that no route uses. Mu is held.
func (fan *Fanout) drop(r *route) {
	t := &fan.routes
	if first := t.byMark[r.mark]; first != r {
		for first.next != r {
			first = first.next
		}
		first.next = r.next
	} else if r.next != nil {
		t.byMark[r.mark] = r.next
	} else {
		delete(t.byMark, r.mark)
	}
	for _, n := range r.lanes {
		n.routes--
	}
	for _, s := range r.streams {
		if s.routes--; s.routes == 0 {
			fan.dropStream(s)
		}
	}
}

// dropStream seals and removes a stream. Mu is held.
func (fan *Fanout) dropStream(s *stream) {
	t := &fan.routes
	if len(s.lanes) == 1 {
		s.lanes[0].own = nil
	} else if t.streams[s.mark] = slices.DeleteFunc(t.streams[s.mark], func(o *stream) bool { return o == s }); len(t.streams[s.mark]) == 0 {
		delete(t.streams, s.mark)
	}
	i, _ := slices.BinarySearchFunc(t.list, s.order, func(s *stream, order uint64) int { return cmp.Compare(s.order, order) })
	t.list, t.stale = slices.Delete(t.list, i, i+1), true
	s.mu.Lock()
	if s.solo != nil && s.solo.lane.gone {
		s.solo.lane.rest = s.solo.detach()
	}
	s.seal()
	fan.published.Add(s.messages)
	fan.bytes.Add(s.bytes)
	s.messages, s.bytes = 0, 0
	for _, n := range s.lanes {
		n.forgetStream(s)
	}
	s.mu.Unlock()
}

// showStreams shows the current streams to tellDue and Flush. It is called
// before the first tag moves to a new stream: a stream that is not shown is not flushed.
// Mu is held.
func (fan *Fanout) showStreams() {
	if fan.routes.stale {
		streams := slices.Clone(fan.routes.list)
		fan.streams.Store(&streams)
		fan.routes.stale = false
	}
}

// compareStreams gives the order in which streams are locked. Those of one route
// have no lane in common.
func compareStreams(a, b *stream) int {
	switch {
	case len(a.lanes) == 0 || len(b.lanes) == 0:
		return cmp.Compare(len(a.lanes), len(b.lanes))
	case a.lanes[0] != b.lanes[0]:
		return compareLanes(a.lanes[0], b.lanes[0])
	}
	return cmp.Compare(a.order, b.order)
}

// toggled returns lanes with n added or, if it is there, removed.
func toggled(lanes []*Lane, n *Lane) []*Lane {
	i, found := slices.BinarySearchFunc(lanes, n, compareLanes)
	if found {
		return slices.Delete(slices.Clone(lanes), i, i+1)
	}
	out := make([]*Lane, 0, len(lanes)+1)
	return append(append(append(out, lanes[:i]...), n), lanes[i:]...)
}

// compareLanes gives the order of lanes in a route and in a stream.
func compareLanes(a, b *Lane) int { return cmp.Compare(a.id, b.id) }
