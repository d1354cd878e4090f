package fanout

import "tagbus/bus/internal/ledger"

// fanoutStats counts what a fanout has done.
type Stats struct {
	Messages, Bytes uint64 // accepted
	Refusals        uint64 // for want of room
	Replayed        uint64 // messages, for each lane
	Streams         int    // of some lanes
	Cached          int    // messages
	CachedBytes     int
	LaneLimit       int // the most pages of a lane
}

// stats returns the counters. mu is held.
func (fan *Fanout) Stats() Stats {
	st := Stats{
		Messages: fan.published.Load(), Bytes: fan.bytes.Load(),
		Refusals: fan.refusals.Load(), Replayed: fan.replayed.Load(), LaneLimit: int(fan.queuePages),
	}
	if fan.cache != nil {
		st.Cached, st.CachedBytes = fan.cache.Use()
	}
	for _, s := range *fan.streams.Load() {
		s.mu.Lock()
		st.Messages += s.messages
		st.Bytes += s.bytes
		s.mu.Unlock()
		if len(s.lanes) > 0 {
			st.Streams++
		}
	}
	return st
}

// outboxStats counts what a connection has sent, and says what its lanes hold.
type OutboxStats struct {
	Pages, Messages, Bytes uint64 // sent; bytes of pages
	Lanes                  []LaneUse
}

// laneUse is what a lane holds.
type LaneUse struct {
	Account       *ledger.Lane
	Parts         int // ranges and masks of its subscriptions
	Queued, Limit int // pages
	Sent          uint64
}

// stats returns the counters. fanout.mu is held.
func (box *Outbox) Stats() OutboxStats {
	box.mu.Lock()
	defer box.mu.Unlock()
	st := OutboxStats{Pages: box.sentPages, Messages: box.sentMessages, Bytes: box.sentBytes}
	for _, n := range box.Lanes {
		parts, _ := box.fan.table.Size(n.id)
		st.Lanes = append(st.Lanes, LaneUse{n.Account, parts, int(n.pinned.Load()), int(n.limit), n.sentMessages})
	}
	return st
}

// shape is what the topology is made of, and what that has cost.
type Shape struct {
	Routes  int
	Streams int         // with those of no lane
	Shared  int         // of these, those of several lanes
	Lanes   int         // that are open
	Tags    map[int]int // how many tags have a route to so many lanes
	Walked  uint64      // steps of walks through tags
}

// shape returns what the topology is made of. mu is held.
func (fan *Fanout) Shape() Shape {
	x := Shape{
		Streams: len(*fan.streams.Load()), Shared: fan.routes.shared, Lanes: len(fan.lanes),
		Tags: make(map[int]int), Walked: fan.walked,
	}
	for _, r := range fan.routes.byMark {
		for ; r != nil; r = r.next {
			x.Routes++
			x.Tags[len(r.lanes)] += r.tags
		}
	}
	return x
}
