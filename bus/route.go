package bus

import (
	"cmp"
	"encoding/binary"
	"slices"

	"tagbus/subscription"
	"tagbus/tags"
)

// route says where the messages of a tag go: to the stream of the lanes that
// want it. A lane whose policy decides message by message has a stream of its
// own, and when there are already PublisherConfig.MaxStreams shared ones, every
// lane of a new set has. The messages of a route of several streams are copied
// into each.
type route struct {
	key     string
	lanes   []*lane   // ascending ids
	streams []*stream // at least one; ascending first ids, so that all are locked in the same order
	tags    int       // tags that use the route; Publisher.mu
	lacking []*stream // memory for publishSplit, under the streams' mutexes
}

// publishSplit publishes to a route of several streams: to all or to none. It
// asks for a retry when the route has just changed.
func (t *tagState) publishSplit(r *route, tag tags.Tag, status Status, data []byte) (retry bool, err error) {
	for _, s := range r.streams { // always in the same order: no deadlock
		s.mu.Lock()
	}
	defer func() {
		for _, s := range r.streams {
			s.mu.Unlock()
		}
	}()
	if t.route.Load() != r {
		return true, nil
	}
	if t.removed {
		return false, &PublishError{Tag: tag, Err: ErrUnknownTag}
	}
	r.lacking = r.lacking[:0]
	for _, s := range r.streams {
		if s.closed {
			return false, ErrClosed
		}
		if s.lacks(len(data)) {
			r.lacking = append(r.lacking, s)
		}
	}
	if len(r.lacking) > 0 {
		p := r.streams[0].pub
		if err := p.open(p.pageSize(len(data)), r.lacking...); err != nil {
			return false, err
		}
	}
	for _, s := range r.streams {
		s.commit(tag, status, t.count+1, data)
	}
	r.streams[0].messages++ // one message, however many copies
	r.streams[0].bytes += uint64(len(data))
	t.count++
	if c := r.streams[0].pub.cache; c != nil {
		c.add(t.line, status, data)
	}
	return false, nil
}

// addTag begins to serve a tag, at its first message.
func (p *Publisher) addTag(tag tags.Tag) (*tagState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != publisherOpen {
		return nil, ErrClosed
	}
	if t := p.tags.get(tag); t != nil {
		return t, nil
	}
	if !p.served.Contains(tag) {
		return nil, &PublishError{Tag: tag, Err: ErrUnknownTag}
	}
	var lanes []*lane
	for _, id := range p.table.AppendWanting(nil, tag) {
		lanes = append(lanes, p.lanes[id])
	}
	r := p.routeTo(lanes)
	r.tags++
	p.knownTags.Add(1)
	return p.tags.add(tag, func(t *tagState) {
		t.route.Store(r)
		if p.cache != nil {
			t.line = p.cache.newLine()
		}
	}), nil
}

// routeTo returns the route to a set of subscribers, which it makes if needed.
// lanes ascend. mu is held.
func (p *Publisher) routeTo(lanes []*lane) *route {
	key := routeKey(lanes)
	if r := p.routes[key]; r != nil {
		return r
	}
	r := &route{key: key, lanes: lanes}
	if shared := p.sharing(lanes); len(shared) == len(lanes) {
		r.streams = []*stream{p.newStream(lanes)}
	} else {
		if len(shared) > 0 {
			r.streams = p.routeTo(shared).streams[:1:1]
		}
		for i, n := range lanes {
			if !slices.Contains(shared, n) {
				r.streams = append(r.streams, p.routeTo(lanes[i : i+1 : i+1]).streams[0])
			}
		}
		slices.SortFunc(r.streams, func(a, b *stream) int { return cmp.Compare(a.lanes[0].id, b.lanes[0].id) })
	}
	for _, s := range r.streams {
		s.routes++
	}
	p.routes[key] = r
	return r
}

// sharing returns those of lanes that are to share a stream. mu is held.
func (p *Publisher) sharing(lanes []*lane) []*lane {
	if len(lanes) <= 1 {
		return lanes
	}
	shared := slices.DeleteFunc(slices.Clone(lanes), (*lane).alone)
	if len(shared) > 1 && p.routes[routeKey(shared)] == nil && p.sharedStreams() >= p.cfg.MaxStreams {
		return nil
	}
	return shared
}

// sharedStreams counts the streams of several lanes that tags use; those that a
// change is about to leave do not count. mu is held.
func (p *Publisher) sharedStreams() int {
	shared := make(map[*stream]struct{})
	for _, r := range p.routes {
		for _, s := range r.streams {
			if r.tags > 0 && len(s.lanes) > 1 {
				shared[s] = struct{}{}
			}
		}
	}
	return len(shared)
}

func routeKey(lanes []*lane) string {
	key := make([]byte, 0, 4*len(lanes))
	for _, l := range lanes {
		key = binary.LittleEndian.AppendUint32(key, uint32(l.id))
	}
	return string(key)
}

func (p *Publisher) newStream(lanes []*lane) *stream {
	s := &stream{pub: p, lanes: lanes, closed: p.state != publisherOpen, skip: make([]bool, len(lanes))}
	s.lossy = len(lanes) > 0 && !slices.ContainsFunc(lanes, func(n *lane) bool { return n.policy.Lossless() })
	if len(lanes) == 1 && lanes[0].alone() {
		s.solo = newSolo(s, lanes[0])
	}
	streams := append(slices.Clone(*p.streams.Load()), s)
	p.streams.Store(&streams)
	return s
}

// collect removes the routes that no tag uses, and the streams that no route
// uses. mu is held.
func (p *Publisher) collect() {
	for again := true; again; {
		again = false
		for key, r := range p.routes {
			if r.tags > 0 || r.isPart() {
				continue
			}
			delete(p.routes, key)
			for _, s := range r.streams {
				s.routes--
			}
			again = true
		}
	}
	streams := slices.DeleteFunc(slices.Clone(*p.streams.Load()), func(s *stream) bool {
		if s.routes > 0 {
			return false
		}
		s.mu.Lock()
		s.seal()
		p.published.Add(s.messages)
		p.bytes.Add(s.bytes)
		s.messages, s.bytes = 0, 0
		s.mu.Unlock()
		return true
	})
	p.streams.Store(&streams)
}

// isPart tells whether a route of several streams copies into that of r.
func (r *route) isPart() bool { return len(r.streams) == 1 && r.streams[0].routes > 1 }

// change is a subscription whose set has become another.
type change struct{ before, after tags.Set }

// joined is where the tags that a lane newly wants stand, ascending, and what
// is known to be lost of them.
type joined struct {
	positions []subscription.Position
	totals    losses
}

// reroute moves the tags that lane n no longer wants, or newly wants, by these
// changes of its subscriptions, to their new routes, and returns where those
// stand that it newly wants. The pages under construction are sealed first, so
// that the order of each tag holds: what was published before the move is queued
// before it. If tags are newly wanted the lane is corked in between: the
// acknowledgement comes behind the last message of the tags that go, and before
// the first of those that come. What is replayed of these, if replayed is not
// nil, and what was lost of them is taken at the moment of the move: before more
// can be lost. mu is held.
func (p *Publisher) reroute(n *lane, replayed *replay, changes ...change) (j joined) {
	leaving, joining := p.moves(n, changes)
	for from, entries := range leaving {
		to := p.move(from, n, entries)
		from.lock()
		for _, e := range entries {
			e.value.route.Store(to)
			from.forget(n, e.tag)
		}
		from.unlock()
	}
	if len(joining) > 0 {
		n.cork()
	}
	replayed.plan(joining)
	for from, entries := range joining {
		to := p.move(from, n, entries)
		from.lock()
		for _, e := range entries {
			if e.value.count > 0 {
				j.positions = append(j.positions, replayed.take(e))
			}
			n.account.addTotal(&j.totals, e.tag)
			e.value.route.Store(to)
		}
		from.unlock()
	}
	if len(leaving)+len(joining) > 0 {
		p.collect()
	}
	slices.SortFunc(j.positions, comparePositions)
	return j
}

func comparePositions(a, b subscription.Position) int { return cmp.Compare(a.Tag, b.Tag) }

// move returns the route of tags that a lane joins or leaves. mu is held.
func (p *Publisher) move(from *route, n *lane, entries []*tagEntry[tagState]) *route {
	to := p.routeTo(toggled(from.lanes, n))
	to.tags += len(entries)
	return to
}

// moves takes the known tags off their routes that have lane n and must not
// have it any more, or the other way round. mu is held.
func (p *Publisher) moves(n *lane, changes []change) (leaving, joining map[*route][]*tagEntry[tagState]) {
	leaving, joining = make(map[*route][]*tagEntry[tagState]), make(map[*route][]*tagEntry[tagState])
	seen := make(map[tags.Tag]struct{}) // several subscriptions may have the same tag
	p.candidates(changes, func(e *tagEntry[tagState]) {
		r := e.value.route.Load()
		has, wants := r.has(n), p.table.Wants(n.id, e.tag)
		if has == wants {
			return
		}
		if _, twice := seen[e.tag]; len(changes) > 1 && twice {
			return
		}
		if len(changes) > 1 {
			seen[e.tag] = struct{}{}
		}
		r.tags--
		if wants {
			joining[r] = append(joining[r], e)
		} else {
			leaving[r] = append(leaving[r], e)
		}
	})
	return leaving, joining
}

// candidates calls f for the known tags that some of the changes may concern:
// looked up one by one, or if these are fewer, for all that are known. mu is
// held.
func (p *Publisher) candidates(changes []change, f func(*tagEntry[tagState])) {
	var sets []tags.Set
	left := uint64(p.tags.count)
	for _, c := range changes {
		added, removed, few := p.difference(c.before, c.after)
		more, _ := added.Count()
		less, _ := removed.Count()
		if !few || more+less > left {
			p.tags.all(f)
			return
		}
		left -= more + less
		sets = append(sets, added, removed)
	}
	for _, set := range sets {
		for tag := range set.All() {
			if e := p.tags.entry(tag); e != nil {
				f(e)
			}
		}
	}
}

// has tells whether a route leads to lane n.
func (r *route) has(n *lane) bool {
	_, found := slices.BinarySearchFunc(r.lanes, n, compareLanes)
	return found
}

func compareLanes(a, b *lane) int { return cmp.Compare(a.id, b.id) }

// difference returns what after has more and less than before, if that is
// fewer tags than are known: then it is quicker to look them up.
func (p *Publisher) difference(before, after tags.Set) (added, removed tags.Set, few bool) {
	added, err := after.Without(before)
	if err != nil {
		return added, removed, false
	}
	if removed, err = before.Without(after); err != nil {
		return added, removed, false
	}
	more, _ := added.Count()
	less, _ := removed.Count()
	known := uint64(p.tags.count)
	return added, removed, more <= known && less <= known-more
}

// toggled returns lanes with l added or, if it is there, removed.
func toggled(lanes []*lane, l *lane) []*lane {
	i, found := slices.BinarySearchFunc(lanes, l, compareLanes)
	if found {
		return slices.Delete(slices.Clone(lanes), i, i+1)
	}
	return slices.Insert(slices.Clone(lanes), i, l)
}

// lock keeps publishers off the route, with no page under construction.
func (r *route) lock() {
	for _, s := range r.streams {
		s.mu.Lock()
		s.sealPage()
	}
}

// forget drops what a lane keeps of a tag that it does not want any more. The
// route is locked.
func (r *route) forget(l *lane, tag tags.Tag) {
	for _, s := range r.streams {
		if s.solo != nil && s.solo.lane == l {
			s.solo.forget(tag)
		}
	}
}

func (r *route) unlock() {
	for _, s := range r.streams {
		s.mu.Unlock()
	}
}

// finalPositions returns the positions of the tags that subscriber l wants,
// ascending. mu is held.
func (p *Publisher) finalPositions(l *lane) []subscription.Position {
	wanted := p.table.Set(l.id)
	var positions []subscription.Position
	p.tags.all(func(e *tagEntry[tagState]) {
		if !wanted.Contains(e.tag) {
			return
		}
		r := e.value.route.Load()
		r.streams[0].mu.Lock()
		if n := e.value.count; n > 0 {
			positions = append(positions, subscription.Position{Tag: e.tag, Count: n})
		}
		r.streams[0].mu.Unlock()
	})
	slices.SortFunc(positions, comparePositions)
	return positions
}
