// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"

	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// route is the way of the messages of a tag: to the stream of the lanes that want it. A
// lane whose policy decides message by message has a stream of its own. So has every
// lane of a new set beyond Config.MaxStreams shared streams. The messages of a route of
// several streams are copied into each.
type route struct {
	mark    uint64    // see routes
	lanes   []*Lane   // ascending ids
	streams []*stream // at least one, in the order of compareStreams, so that all are locked in the same order
	only    *stream   // the one of streams, or nil if there are several
	tags    int       // tags that use the route; Fanout.Mu
	next    *route    // with the same mark; Fanout.Mu
	to      *route    // where its tags go in this round of shift; Fanout.Mu
	moved   uint64    // the last round of shift in which some of its tags move; Fanout.Mu
	lacking []*stream // memory for publishSplit, under the streams' mutexes
}

// publishSplit publishes to all streams of a route or to none. It asks for a retry if
// the route has just changed. A receipt is settled at once: it waits for one Ack, and says that the
// message may have been handled.
//
// Errors: ErrNoRoom, ErrStopped, ErrUnknownTag.
func (t *tagState) publishSplit(r *route, tag tags.Tag, status wire.Status, data []byte, x *Receipt) (retry bool, err error) {
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
		return false, ErrUnknownTag
	}
	r.lacking = r.lacking[:0]
	for _, s := range r.streams {
		if s.closed {
			return false, ErrStopped
		}
		if s.lacks(len(data)) {
			r.lacking = append(r.lacking, s)
		}
	}
	if len(r.lacking) > 0 {
		fan := r.streams[0].fan
		if err := fan.open(askFor(len(data)), r.lacking...); err != nil {
			return false, err
		}
	}
	for _, s := range r.streams {
		s.beside = len(r.streams) - 1
		s.commit(tag, status, t.count+1, data)
		s.beside = 0
	}
	r.streams[0].messages++ // one message, however many copies
	r.streams[0].bytes += uint64(len(data))
	t.accepted(r.streams[0].fan, status, data)
	if x != nil {
		x.position = t.count
		x.settle(ErrLost, false)
	}
	return false, nil
}

// lanesOf returns the lanes that want a tag, ascending. Mu is held.
func (fan *Fanout) lanesOf(tag tags.Tag) (lanes []*Lane) {
	for _, id := range fan.table.AppendWanting(nil, tag) {
		lanes = append(lanes, fan.lanes[id])
	}
	for n := range fan.changing {
		if i, found := slices.BinarySearchFunc(lanes, n, compareLanes); !found && n.keeps(tag) {
			lanes = slices.Insert(lanes, i, n)
		}
	}
	return lanes
}

// has reports whether a route leads to lane n.
func (way *route) has(n *Lane) bool {
	_, found := slices.BinarySearchFunc(way.lanes, n, compareLanes)
	return found
}

// isOnly reports whether s is all of the route.
func (way *route) isOnly(s *stream) bool { return len(way.streams) == 1 && way.streams[0] == s }

// forget drops the state of a tag that a lane does not want any more. A route to it is
// locked, and Fanout.Mu is held.
func (n *Lane) forget(tag tags.Tag) {
	if n.own != nil && n.own.solo != nil {
		n.own.solo.forget(tag)
	}
}
