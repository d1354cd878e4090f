package bus

import (
	"context"
	"fmt"
	"slices"

	"tagbus/tags"
)

// PublisherStats counts what a publisher has done.
type PublisherStats struct {
	Messages    uint64 // accepted by Publish, subscribed to or not
	Bytes       uint64 // payload of those
	Refusals    uint64 // times that Publish returned ErrNoResources
	Unconfirmed uint64 // messages of lost connections, until their subscriber reports which it received; counted for each subscriber
	Losses      Losses // of all subscribers; Connection only as reported by those that came back
	Strangers   uint64 // connections that were not from a tagbus program
	Silent      uint64 // connections closed here because nothing was heard of the subscriber
	Stalled     uint64 // connections closed here because the subscriber took nothing
	Replayed    uint64 // messages sent from the cache, counted for each subscriber

	Streams      int // sets of subscribers that share pages
	Pages        int // in the pool
	PagesFree    int
	MinPagesFree int // smallest since the last call of Stats
	Cached       int // messages in the cache
	CachedBytes  int // of PublisherConfig.CacheBytes

	Subscribers []SubscriberState // connected now; by address
	Gone        []SubscriberState // those that have gone and are remembered, the last 256; the oldest first
}

// SubscriberState is the state of a subscriber, as its publisher sees it.
type SubscriberState struct {
	Peer     Peer
	Parts    int    // ranges and masks that it has subscribed to
	Queued   int    // pages reserved, queued or being sent, in all lanes
	Limit    int    // pages that each lane may hold at most
	Messages uint64 // sent: handed to the transport whole, on this connection
	Bytes    uint64 // of pages sent
	Pages    uint64 // sent

	SendsFree    int // pages and control messages that its endpoint would take at once
	MinSendsFree int // smallest since the last call of Stats

	Lanes []LaneState // by policy
}

// LaneState is the state of the subscriptions of a subscriber that are treated alike,
// and so share their room.
type LaneState struct {
	Policy Policy
	Parts  int // ranges and masks that they have together
	Queued int // pages reserved, queued or being sent
	Limit  int // pages that it may hold; a lossless one that holds them blocks the publisher, another loses messages

	// Of the messages that were published for the subscriber until its last
	// connection ended, on all its connections:
	//
	//	published = Sent + Losses.Lost() + Losses.LeftOut + Unconfirmed
	//
	// While it is connected, there are those in its queue besides.
	Sent   uint64 // on this connection handed to the transport whole, on earlier ones known to be received
	Losses Losses // what it did not get

	// Unconfirmed counts messages of ended connections that were handed to the
	// transport, or dropped, and that the subscriber has not confirmed. A subscriber
	// says how many messages it has received with its heartbeats, and when it leaves.
	// When it comes back after a loss, it reports all, and each unconfirmed message
	// counts as sent or lost.
	Unconfirmed uint64
}

// Stats returns the publisher's counters. Each call restarts the smallest numbers of
// free pages and sends, also for other callers. Threads: any.
func (p *Publisher) Stats() PublisherStats {
	st := PublisherStats{
		Refusals: p.fan.refusals.Load(), Strangers: p.strangers.Load(),
		Silent: p.silent.Load(), Stalled: p.stalled.Load(),
		Pages: p.fan.pool.Buffers(), PagesFree: p.fan.pool.Free(), MinPagesFree: p.fan.pool.MinFree(),
	}
	st.Replayed = p.fan.replayed.Load()
	if p.fan.cache != nil {
		st.Cached, st.CachedBytes = p.fan.cache.Use()
	}
	p.fan.mu.Lock()
	defer p.fan.mu.Unlock()
	st.Messages, st.Bytes = p.fan.published.Load(), p.fan.bytes.Load()
	for _, s := range *p.fan.streams.Load() {
		s.mu.Lock()
		st.Messages += s.messages
		st.Bytes += s.bytes
		s.mu.Unlock()
		if len(s.lanes) > 0 {
			st.Streams++
		}
	}
	for l := range p.links {
		state := SubscriberState{Peer: *l.peer, Limit: int(p.fan.queuePages)}
		l.out.mu.Lock()
		for _, n := range l.out.lanes {
			lane := laneState(n.account)
			lane.Parts, _ = p.fan.table.Size(n.id)
			lane.Queued, lane.Limit = int(n.pinned.Load()), int(n.limit)
			lane.Sent += n.sentMessages
			state.Parts += lane.Parts
			state.Queued += lane.Queued
			state.Lanes = append(state.Lanes, lane)
		}
		state.Messages, state.Bytes, state.Pages = l.out.sentMessages, l.out.sentBytes, l.out.sentPages
		l.out.mu.Unlock()
		sortLanes(state.Lanes)
		room := l.ep.Room()
		state.SendsFree, state.MinSendsFree = room.Sends, room.MinSends
		st.Subscribers = append(st.Subscribers, state)
	}
	sums := p.accounts.Sums()
	st.Gone, st.Losses, st.Unconfirmed = p.goneStates(), lossesOf(&sums.Lost), sums.Unconfirmed
	slices.SortFunc(st.Subscribers, func(a, b SubscriberState) int {
		return a.Peer.Addr.Compare(b.Peer.Addr)
	})
	return st
}

// WaitSubscribers waits until at least n subscribers have a subscription, and each tag
// of set has a subscriber.
//
//   - set: the tags that are about to be published; often PublisherConfig.Tags.
//   - Errors: ErrClosed; ErrOnLoop; tags.ErrTooComplex, wrapped, when the sets
//     have too many overlapping masks to compare; the cause of the end of ctx.
//   - Threads: any.
func (p *Publisher) WaitSubscribers(ctx context.Context, n int, set tags.Set) error {
	var missing *tags.Tag // as long as no subscriber wants it, the sets need not be compared
	for {
		p.fan.mu.Lock()
		open := p.state == publisherOpen
		enough := p.subscribed() >= n
		var wanted []tags.Set
		compare := enough && n > 0 && (missing == nil || len(p.fan.table.AppendWanting(nil, *missing)) > 0)
		if compare {
			wanted = p.wanted()
		}
		changed := p.fan.changed
		p.fan.mu.Unlock()
		var err error
		if compare { // the comparison can take long, and the loop needs mu
			missing, err = missingFrom(tags.Union(wanted...), set)
		}
		enough = enough && (n <= 0 || missing == nil)
		switch {
		case !open:
			return ErrClosed
		case err != nil:
			return fmt.Errorf("bus: wait for %d subscribers of %s: %w", n, shortSet(set), err)
		case enough:
			return nil
		case p.loop.OnAnyLoop():
			return ErrOnLoop
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("bus: wait for %d subscribers: %w", n, context.Cause(ctx))
		}
	}
}

// subscribed returns how many subscribers have a subscription. mu is held.
func (p *Publisher) subscribed() (count int) {
	for l := range p.links {
		if slices.ContainsFunc(l.out.lanes, func(n *lane) bool { return p.fan.table.Has(n.id) && !n.entering }) {
			count++
		}
	}
	return count
}

// wanted returns the sets of all subscriptions whose tags have moved. mu is held.
func (p *Publisher) wanted() (sets []tags.Set) {
	for id, n := range p.fan.lanes {
		if !n.entering {
			sets = p.fan.table.Sets(sets, id)
		}
	}
	return sets
}

// missingFrom returns a tag of set that is not in all, or nil. It takes one from the
// middle: if tags come in order, half of them is soon there.
//
// Errors: tags.ErrTooComplex.
func missingFrom(all, set tags.Set) (*tags.Tag, error) {
	left, err := set.Without(all)
	if err != nil || left.IsEmpty() {
		return nil, err
	}
	var ranges []tags.Tag
	for first := range left.Ranges() {
		ranges = append(ranges, first)
	}
	for first := range left.Masks() {
		ranges = append(ranges, first)
	}
	return &ranges[len(ranges)/2], nil
}
