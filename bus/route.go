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
		if err := p.open(p.extentOf(len(data)), r.lacking...); err != nil {
			return false, err
		}
	}
	for _, s := range r.streams {
		s.commit(tag, status, t.count+1, data)
	}
	r.streams[0].messages++ // one message, however many copies
	r.streams[0].bytes += uint64(len(data))
	t.accepted(r.streams[0].pub.cache, status, data)
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
	t := p.tags.add(tag, func(t *tagState) {
		t.route.Store(r)
		if p.cache != nil {
			t.line = p.cache.newLine()
		}
	})
	if p.sender != nil {
		p.sender.use(tag)
	}
	p.finishGrowing()
	return t, nil
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
