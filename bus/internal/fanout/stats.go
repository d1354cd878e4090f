// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
	"tagbus/tags"
)

// Stats counts what a fanout has done.
type Stats struct {
	Messages, Bytes uint64 // accepted
	Refusals        uint64 // for want of room
	Replayed        uint64 // messages from the cache, for each lane
	Streams         int    // of some lanes
	Cached          int    // messages in the cache
	CachedBytes     int    // of its memory
	LaneLimit       int    // the most bytes of a lane
}

// Stats returns the counters. Mu is held.
func (fan *Fanout) Stats() Stats {
	st := Stats{
		Messages: fan.published.Load(), Bytes: fan.bytes.Load(),
		Refusals: fan.refusals.Load(), Replayed: fan.replayed.Load(), LaneLimit: fan.cfg.QueueBytes,
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

// KnownTags returns how many tags were published.
func (fan *Fanout) KnownTags() int { return int(fan.knownTags.Load()) }

// Replayed returns how many messages were sent again from the cache, for each lane.
func (fan *Fanout) Replayed() uint64 { return fan.replayed.Load() }

// OutboxStats counts what a connection has sent, and says what its lanes hold.
type OutboxStats struct {
	Pages, Messages, Bytes uint64 // sent; bytes of pages
	Lanes                  []LaneUse
}

// LaneUse is what a lane holds, and has sent.
type LaneUse struct {
	ID            subscription.LaneID
	Account       *ledger.Lane
	Parts         int    // ranges and masks of its subscriptions
	Queued, Limit int    // bytes of pages that it holds, and may hold
	Sent          uint64 // messages
}

// Stats returns the counters of the connection. Fanout.Mu is held.
func (box *Outbox) Stats() OutboxStats {
	box.mu.Lock()
	defer box.mu.Unlock()
	st := OutboxStats{Pages: box.sentPages, Messages: box.sentMessages, Bytes: box.sentBytes}
	for _, n := range box.Lanes {
		parts, _ := box.fan.table.Size(n.id)
		st.Lanes = append(st.Lanes, LaneUse{n.id, n.Account, parts, int(n.pinned.Load()), int(n.limit), n.sentMessages})
	}
	return st
}

// Fullest returns the largest share of its limit that a lane holds: 0 to 1. Fanout.Mu is
// held.
func (box *Outbox) Fullest() (share float64) {
	for _, n := range box.Lanes {
		share = max(share, min(1, float64(n.pinned.Load())/float64(n.limit)))
	}
	return share
}

// Wanting returns the lanes that want a tag. Mu is held.
func (fan *Fanout) Wanting(tag tags.Tag) []subscription.LaneID {
	return fan.table.AppendWanting(nil, tag)
}

// Shape is what the topology is made of, and what that has cost: for tests.
type Shape struct {
	Routes  int
	Streams int         // with those of no lane
	Shared  int         // of these, those of several lanes
	Lanes   int         // that are open
	Tags    map[int]int // how many tags have a route to so many lanes
	Walked  uint64      // steps of walks through tags
}

// Shape returns what the topology is made of. Mu is held.
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
