package bus

import "slices"

// PublisherStats counts what a publisher has done.
type PublisherStats struct {
	Messages    uint64 // accepted by Publish, subscribed to or not
	Bytes       uint64 // payload of those
	Refusals    uint64 // times that Publish returned ErrNoResources
	Undelivered uint64 // messages dropped with the connection of their subscriber, counted for each
	Strangers   uint64 // connections that were not from a tagbus program

	Streams      int // sets of subscribers that share pages
	Pages        int // in the pool
	PagesFree    int
	MinPagesFree int // smallest since the last call of Stats

	Subscribers []SubscriberState // by address
}

// SubscriberState says how a subscriber of a publisher is doing.
type SubscriberState struct {
	Peer     Peer
	Parts    int    // ranges and masks that it has subscribed to
	Queued   int    // pages reserved, queued or being sent; Limit means that it blocks the publisher
	Limit    int    // pages
	Messages uint64 // sent: handed to the transport whole
	Bytes    uint64 // of pages sent
	Pages    uint64 // sent

	SendsFree    int // pages and control messages that its endpoint would take at once
	MinSendsFree int // smallest since the last call of Stats
}

// Stats returns the publisher's counters. The smallest numbers of free pages and
// sends begin anew with each call, whoever makes it. Threads: any.
func (p *Publisher) Stats() PublisherStats {
	st := PublisherStats{
		Refusals: p.refusals.Load(), Undelivered: p.undelivered.Load(), Strangers: p.strangers.Load(),
		Pages: p.pool.Buffers(), PagesFree: p.pool.Free(), MinPagesFree: p.pool.MinFree(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	st.Messages, st.Bytes = p.published.Load(), p.bytes.Load()
	for _, s := range *p.streams.Load() {
		s.mu.Lock()
		st.Messages += s.messages
		st.Bytes += s.bytes
		s.mu.Unlock()
		if len(s.links) > 0 {
			st.Streams++
		}
	}
	for id, l := range p.links {
		state := SubscriberState{
			Peer: *l.peer, Parts: p.table.Set(id).Parts(),
			Queued: int(l.pinned.Load()), Limit: int(p.queuePages),
		}
		l.mu.Lock()
		state.Messages, state.Bytes, state.Pages = l.sentMessages, l.sentBytes, l.sentPages
		l.mu.Unlock()
		room := l.ep.Room()
		state.SendsFree, state.MinSendsFree = room.Sends, room.MinSends
		st.Subscribers = append(st.Subscribers, state)
	}
	slices.SortFunc(st.Subscribers, func(a, b SubscriberState) int {
		return a.Peer.Addr.Compare(b.Peer.Addr)
	})
	return st
}
