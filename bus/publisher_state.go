// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// State returns what the publisher knows of itself and of its subscribers.
//
//   - q: how much; beyond its limits it counts as Question.Bounded.
//   - Errors: the cause of the end of ctx, wrapped.
//   - Threads: any. Blocks: never. Its work grows with the subscribers, and not with the
//     tags: about a millisecond for 1,000 of them.
//
//go:noinline
func (handle *Publisher) State(ctx context.Context, q state.Question) (state.State, error) {
	return publisherOf(handle).stateNow(ctx, state.Publisher, q)
}

// State returns what the sender knows of itself and of its receivers; see
// Publisher.State.
//
//go:noinline
func (handle *Sender) State(ctx context.Context, q state.Question) (state.State, error) {
	return senderOf(handle).pub.stateNow(ctx, state.Sender, q)
}

func (p *publisherImpl) stateNow(ctx context.Context, role state.Role, q state.Question) (state.State, error) {
	if ctx.Err() != nil {
		return state.State{}, fmt.Errorf("bus: state: %w", context.Cause(ctx))
	}
	now := time.Now()
	return snapshot.Shown(p.snapshot(role, q.Bounded(), now), now), nil
}

// snapshot returns the state of this side. q is within its limits, and now as time.Now
// returns it: what is measured does not depend on the clock on the wall.
func (p *publisherImpl) snapshot(role state.Role, q state.Question, now time.Time) state.State {
	st := p.state(role, now)
	served := p.Tags()
	st.Tags, st.TagParts = snapshot.Text(served, served.Parts())
	st.PageBytes, st.MaxMessageBytes = p.cfg.PageBytes, p.cfg.MaxMessageBytes
	st.KnownTags = p.fan.KnownTags()
	st.Sending = &state.Sending{
		CacheLimitBytes: p.cfg.CacheBytes, StallsEnded: p.stalled.Load(), Strangers: p.strangers.Load(),
		PoolPages: p.pool.Buffers(), PoolFreePages: p.pool.Free(),
	}
	shown, eps := p.snapshotAll(&st, q, now)
	st.Path = snapshot.SumPaths(eps)
	for part := range slices.Chunk(shown, shownAtOnce) {
		from := len(st.Peers)
		p.fan.Mu.Lock()
		wanted := snapshot.Wanted(&p.fan, q.Tags)
		part = slices.DeleteFunc(part, func(l *link) bool { _, there := p.links[l]; return !there })
		for _, l := range part {
			st.Peers = append(st.Peers, l.snapshot(now, wanted))
		}
		p.fan.Mu.Unlock()
		for i, l := range part {
			snapshot.ShowPath(&st.Peers[from+i], l.ep)
		}
	}
	st.Busiest, st.Asked = p.watch.Busiest(now, q.Busiest), snapshot.Asked(&p.fan, p.watch, now, q.Tags)
	snapshot.AddLosses(st.Busiest, &p.fan.Mu, &p.accounts)
	snapshot.AddLosses(st.Asked, &p.fan.Mu, &p.accounts)
	snapshot.AddLostTags(st.Peers, q, p.lanesWith) // after the sums of the tags: what is lost meanwhile is then in no rest
	snapshot.AddLostTags(st.Gone, q, p.lanesWith)
	return st
}

// shownAtOnce is how many peers are looked at while others wait for the lock.
const shownAtOnce = 128

// snapshotAll fills in what is of all peers, and returns those that are shown with more.
func (p *publisherImpl) snapshotAll(st *state.State, q state.Question, now time.Time) (shown []*link, eps []netio.Endpoint) {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	snapshot.ShowSent(st, p.fan.Stats(), p.accounts.Sums())
	st.Sending.PoolMinFreePages = p.minPagesFree.Add(now, p.pool.MinFree())

	ranking := snapshot.NewRanking[*link](q.Peers)
	for l := range p.links {
		past := p.pastOf(l)
		ranking.Add(st, l, l.peer.Backend, &l.out, snapshot.Rank{Stalled: !l.stall.Since().IsZero(), CutOff: past.CutOff(now), Denied: !l.missing.IsEmpty(), Name: l.peer.Instance})
		eps = append(eps, l.ep)
	}
	gone := snapshot.Latest(p.accounts.Gone(), q.Peers, now, func(a *ledger.Account[*link, member]) (*snapshot.Past, time.Time) {
		return &a.Peer.last.Past, a.Peer.last.Ended
	})
	for _, a := range gone {
		peer := a.Peer.peer.state(a.Peer.last.Since)
		a.Peer.last.Show(&peer)
		snapshot.ShowAccounts(&peer, a.Lanes())
		st.Gone = append(st.Gone, peer)
	}
	return ranking.Shown(st), eps
}

// snapshot returns the state of a subscriber. fan.Mu is held.
//
//   - wanted: which of the tags that are asked for lanes want.
func (l *link) snapshot(now time.Time, wanted map[subscription.LaneID][]tags.Tag) state.Peer {
	peer, room, past := l.peer.state(l.since), l.ep.Room(), l.pub.pastOf(l)
	snapshot.ShowOutbox(&peer, l.out.Stats(), snapshot.Sends{Free: room.Sends, MinFree: l.minSendsFree.Add(now, room.MinSends)}, wanted)
	peer.Heard, peer.Passed = snapshot.Time(l.pulse.Heard()), l.passed
	if !l.missing.IsEmpty() {
		peer.Denied, _ = snapshot.Text(l.missing, l.missing.Parts())
	}
	past.Show(&peer)
	peer.StalledSince = l.stall.Since()
	return peer
}

// notePassed keeps for Sender.State, which any goroutine calls, which better ways the connection does
// not use.
func (out *outlet) notePassed() {
	if !out.contact.Connected() {
		return
	}
	passed := out.contact.PassedWays(out.contact.Peer.Backend)
	out.sender.pub.fan.Mu.Lock()
	defer out.sender.pub.fan.Mu.Unlock()
	out.link.passed = passed
}

// pastOf returns what is remembered of the subscriber of a connection. fan.Mu is held.
func (p *publisherImpl) pastOf(l *link) snapshot.Past {
	if a := p.accounts.Of(l.peer.Instance); a != nil {
		return a.Peer.last.Past
	}
	return snapshot.Past{}
}

// PublisherStats counts what a publisher has done.
type PublisherStats struct {
	Messages    uint64  // accepted by Publish, subscribed to or not
	Bytes       uint64  // payload of those
	Refusals    uint64  // times that Publish returned ErrNoResources
	Unconfirmed uint64  // messages of lost connections, until their subscriber reports which it received; counted for each subscriber
	Losses      Losses  // of all subscribers; Connection only as reported by those that came back
	Dropped     Dropped // by all subscribers, as they say
	Strangers   uint64  // connections that were not from a tagbus program
	NotAllowed  uint64  // times that a peer was refused what no rule lets it do
	Silent      uint64  // connections closed here because nothing was heard of the subscriber
	Stalled     uint64  // connections closed here because the subscriber took nothing
	Broken      uint64  // connections that ended without goodbye, silent and stalled ones too
	OwnStalls   uint64  // of these, with an OwnStallError: closed there after this program took nothing
	Replayed    uint64  // messages sent from the cache, counted for each subscriber

	Streams      int // sets of subscribers that share pages
	Pages        int // in the pool
	PagesFree    int // that no message is in; one that is in use may have room for others
	MinPagesFree int // smallest of the last minute, or of up to two
	Cached       int // messages in the cache
	CachedBytes  int // of PublisherConfig.CacheBytes

	EntryFailing bool // the entry in the directory cannot be renewed now
	Awaited      int  // subscribers that were lost and may come back, for which a Drain waits

	Subscribers []SubscriberState // connected now; by address
	Gone        []SubscriberState // those that have gone and are remembered, the last 256; the oldest first; what was sent is that of their last connection
}

// SubscriberState is the state of a subscriber, as its publisher sees it.
type SubscriberState struct {
	Peer     Peer
	Since    time.Time // when the connection began
	Parts    int       // ranges and masks that it has subscribed to
	Queued   int       // bytes of pages reserved, queued or being sent, in all lanes
	Limit    int       // bytes of pages that each lane may hold at most
	Messages uint64    // sent: handed to the transport whole, on this connection
	Bytes    uint64    // of pages sent
	Pages    uint64    // sent

	SendsFree    int // pages and control messages that its endpoint would take at once
	MinSendsFree int // smallest of the last minute, or of up to two

	Path *netio.Path // as the system has measured it on this connection; nil if it measures nothing

	Lanes []LaneState // by policy
}

// LaneState is the state of the subscriptions of a subscriber that are treated alike,
// and so share their room.
type LaneState struct {
	ID     uint64 // of this publisher: the same on later connections, as long as the counts below go on
	Policy Policy
	Parts  int // ranges and masks that they have together
	Queued int // bytes of pages reserved, queued or being sent
	Limit  int // bytes that it may hold; a lossless one that holds them blocks the publisher, another loses messages

	// Of the messages that were published for the subscriber until its last
	// connection ended, on all its connections:
	//
	//	published = Sent + Losses.Lost() + Losses.LeftOut + Unconfirmed
	//
	// While it is connected, there are those in its queue besides.
	Sent   uint64 // on this connection handed to the transport whole, on earlier ones known to be received
	Losses Losses // what it did not get

	// Dropped is what it has received and lost again, of Sent, as it says about once a second.
	// One of an older release does not.
	Dropped Dropped

	// Unconfirmed counts messages of ended connections that were handed to the
	// transport, or dropped, and that the subscriber has not confirmed. A subscriber
	// says how many messages it has received with its heartbeats, and when it leaves.
	// When it comes back after a loss, it reports all, and each unconfirmed message
	// counts as sent or lost.
	Unconfirmed uint64
}

// Stats returns the publisher's counters. Threads: any.
func (handle *Publisher) Stats() PublisherStats {
	p := publisherOf(handle)
	st := PublisherStats{
		NotAllowed: p.door.Told(),
		Strangers:  p.strangers.Load(), Silent: p.silent.Load(), Stalled: p.stalled.Load(), Broken: p.broken.All(), OwnStalls: p.broken.Own(),
		Pages: p.pool.Buffers(), PagesFree: p.pool.Free(), EntryFailing: p.trouble.Failing(),
	}
	now := time.Now()
	eps := p.lockedStats(&st, now)
	for i := range st.Subscribers { // each is a call of the system, under no lock
		if path, ok := snapshot.PathOf(eps[i]); ok {
			st.Subscribers[i].Path = &path
		}
	}
	slices.SortFunc(st.Subscribers, func(a, b SubscriberState) int {
		return a.Peer.Addr.Compare(b.Peer.Addr)
	})
	return st
}

// lockedStats adds what the lock guards, and returns the endpoints of the subscribers.
func (p *publisherImpl) lockedStats(st *PublisherStats, now time.Time) (eps []netio.Endpoint) {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	st.MinPagesFree = p.minPagesFree.Add(now, p.pool.MinFree())
	fan := p.fan.Stats()
	st.Messages, st.Bytes, st.Refusals, st.Replayed = fan.Messages, fan.Bytes, fan.Refusals, fan.Replayed
	st.Streams, st.Cached, st.CachedBytes = fan.Streams, fan.Cached, fan.CachedBytes
	for l := range p.links {
		st.Subscribers = append(st.Subscribers, l.stats(fan.LaneLimit, now))
		eps = append(eps, l.ep)
	}
	sums := p.accounts.Sums()
	st.Gone, st.Losses, st.Unconfirmed = p.goneStates(), lossesOf(&sums.Lost), sums.Unconfirmed
	st.Dropped = droppedOf(&sums.Lost)
	st.Awaited = p.ending.Awaited()
	return eps
}

// stats returns the state of a subscriber. fan.Mu is held.
func (l *link) stats(limit int, now time.Time) SubscriberState {
	out := l.out.Stats()
	state := SubscriberState{Peer: *l.peer, Since: l.since, Limit: limit, Messages: out.Messages, Bytes: out.Bytes, Pages: out.Pages}
	for _, use := range out.Lanes {
		lane := laneState(use.Account)
		lane.Parts, lane.Queued, lane.Limit = use.Parts, use.Queued, use.Limit
		lane.Sent += use.Sent
		state.Parts += lane.Parts
		state.Queued += lane.Queued
		state.Lanes = append(state.Lanes, lane)
	}
	sortLanes(state.Lanes)
	room := l.ep.Room()
	state.SendsFree, state.MinSendsFree = room.Sends, l.minSendsFree.Add(now, room.MinSends)
	return state
}
