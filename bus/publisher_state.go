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
func (handle *Publisher) State(ctx context.Context, q state.Question) (state.State, error) {
	return publisherOf(handle).stateNow(ctx, state.Publisher, q)
}

// State returns what the sender knows of itself and of its receivers; see
// Publisher.State.
func (handle *Sender) State(ctx context.Context, q state.Question) (state.State, error) {
	return senderOf(handle).pub.stateNow(ctx, state.Sender, q)
}

func (p *publisherImpl) stateNow(ctx context.Context, role state.Role, q state.Question) (state.State, error) {
	if ctx.Err() != nil {
		return state.State{}, fmt.Errorf("bus: state: %w", context.Cause(ctx))
	}
	return p.snapshot(role, q.Bounded(), time.Now()), nil
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
	p.addLosses(st.Busiest)
	p.addLosses(st.Asked)
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
		ranking.Add(st, l, l.peer.Backend, &l.out, snapshot.Rank{Stalled: !l.stall.Since().IsZero(), CutOff: past.CutOff(now), Name: l.peer.Instance})
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

// addLosses adds to the states of tags what of them was lost.
func (p *publisherImpl) addLosses(all []state.Tag) {
	if len(all) == 0 {
		return
	}
	p.fan.Mu.Lock()
	lanes, enough := p.accounts.Lanes(snapshot.MaxLossLooks / len(all))
	p.fan.Mu.Unlock()
	snapshot.AddLosses(all, lanes, enough)
}

// snapshot returns the state of a subscriber. fan.Mu is held.
//
//   - wanted: which of the tags that are asked for lanes want.
func (l *link) snapshot(now time.Time, wanted map[subscription.LaneID][]tags.Tag) state.Peer {
	peer, room, past := l.peer.state(l.since), l.ep.Room(), l.pub.pastOf(l)
	snapshot.ShowOutbox(&peer, l.out.Stats(), snapshot.Sends{Free: room.Sends, MinFree: l.minSendsFree.Add(now, room.MinSends)}, wanted)
	peer.Heard, peer.Passed = snapshot.Time(l.pulse.Heard()), l.passed
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
