package bus

import "tagbus/bus/internal/ledger"

// fanoutStats counts what a fanout has done.
type fanoutStats struct {
	messages, bytes uint64 // accepted
	refusals        uint64 // for want of room
	replayed        uint64 // messages, for each lane
	streams         int    // of some lanes
	cached          int    // messages
	cachedBytes     int
	laneLimit       int // the most pages of a lane
}

// stats returns the counters. mu is held.
func (fan *fanout) stats() fanoutStats {
	st := fanoutStats{
		messages: fan.published.Load(), bytes: fan.bytes.Load(),
		refusals: fan.refusals.Load(), replayed: fan.replayed.Load(), laneLimit: int(fan.queuePages),
	}
	if fan.cache != nil {
		st.cached, st.cachedBytes = fan.cache.Use()
	}
	for _, s := range *fan.streams.Load() {
		s.mu.Lock()
		st.messages += s.messages
		st.bytes += s.bytes
		s.mu.Unlock()
		if len(s.lanes) > 0 {
			st.streams++
		}
	}
	return st
}

// outboxStats counts what a connection has sent, and says what its lanes hold.
type outboxStats struct {
	pages, messages, bytes uint64 // sent; bytes of pages
	lanes                  []laneUse
}

// laneUse is what a lane holds.
type laneUse struct {
	account       *ledger.Lane
	parts         int // ranges and masks of its subscriptions
	queued, limit int // pages
	sent          uint64
}

// stats returns the counters. fanout.mu is held.
func (box *outbox) stats() outboxStats {
	box.mu.Lock()
	defer box.mu.Unlock()
	st := outboxStats{pages: box.sentPages, messages: box.sentMessages, bytes: box.sentBytes}
	for _, n := range box.lanes {
		parts, _ := box.pub.table.Size(n.id)
		st.lanes = append(st.lanes, laneUse{n.account, parts, int(n.pinned.Load()), int(n.limit), n.sentMessages})
	}
	return st
}
