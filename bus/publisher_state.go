// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/portrait"
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
	p := publisherOf(handle)
	if ctx.Err() != nil {
		return state.State{}, fmt.Errorf("bus: state: %w", context.Cause(ctx))
	}
	return p.portray(state.Publisher, q.Bounded(), time.Now()), nil
}

// State returns what the sender knows of itself and of its receivers; see
// Publisher.State.
func (handle *Sender) State(ctx context.Context, q state.Question) (state.State, error) {
	s := senderOf(handle)
	if ctx.Err() != nil {
		return state.State{}, fmt.Errorf("bus: state: %w", context.Cause(ctx))
	}
	return s.pub.portray(state.Sender, q.Bounded(), time.Now()), nil
}

// rankedLink is a subscriber that may be shown.
type rankedLink struct {
	portrait.Rank
	l *link
}

// portray returns the state of this side. q is within its limits, and now as time.Now
// returns it: what is measured does not depend on the clock on the wall.
func (p *publisherImpl) portray(role state.Role, q state.Question, now time.Time) state.State {
	st := portrait.New(role, portrait.Time(now))
	served := p.Tags()
	st.Tags, st.TagParts = portrait.Text(served, served.Parts())
	st.Instance, st.Name, st.Host, st.Since = p.instance, p.cfg.Name, p.host, portrait.Time(p.opened)
	st.Backend, st.PageBytes, st.MaxMessageBytes = p.backends.Names(), p.cfg.PageBytes, p.cfg.MaxMessageBytes
	portrait.ShowPlace(p.entry.Place(), &st)
	st.Silent, st.Broken = p.silent.Load(), p.broken.all.Load()
	st.EntryFailing, st.EntryCrowded = p.trouble.Failing(), p.trouble.Crowded()
	st.KnownTags = p.fan.KnownTags()
	st.Sending = &state.Sending{
		CacheLimitBytes: p.cfg.CacheBytes, StallsEnded: p.stalled.Load(), Strangers: p.strangers.Load(),
		PoolPages: p.pool.Buffers(), PoolFreePages: p.pool.Free(),
	}
	shown, eps := p.portrayAll(&st, q, now)
	st.Path = sumPaths(eps)
	for part := range slices.Chunk(shown, shownAtOnce) {
		from := len(st.Peers)
		p.fan.Mu.Lock()
		wanted := p.wanted(q.Tags)
		part = slices.DeleteFunc(part, func(r rankedLink) bool { _, there := p.links[r.l]; return !there })
		for _, r := range part {
			st.Peers = append(st.Peers, r.l.portray(now, wanted))
		}
		p.fan.Mu.Unlock()
		for i, r := range part {
			portrayPath(&st.Peers[from+i], r.l.ep)
		}
	}
	st.Busiest, st.Asked = p.watch.Busiest(now, q.Busiest), p.portrayTags(now, q.Tags)
	p.portrayTagLosses(st.Busiest)
	p.portrayTagLosses(st.Asked)
	p.portrayLostTags(st.Peers, q) // after the sums of the tags: what is lost meanwhile is then in no rest
	p.portrayLostTags(st.Gone, q)
	return st
}

// portrayTags returns the states of the known tags of a set, of not too many of them.
func (p *publisherImpl) portrayTags(now time.Time, set tags.Set) (all []state.Tag) {
	if set.IsEmpty() {
		return nil
	}
	var known []fanout.Figures
	p.fan.FiguresOf(set, func(x fanout.Figures) (more bool) {
		known = append(known, x)
		return len(known) < state.MaxTags
	})
	slices.SortFunc(known, func(a, b fanout.Figures) int { return cmp.Compare(a.Tag, b.Tag) })
	return p.watch.Of(now, known)
}

// maxLossLooks bounds the work for the losses of tags.
const maxLossLooks = 1 << 15

// portrayTagLosses adds to the states of tags what of them was lost, unless that is too much
// work.
func (p *publisherImpl) portrayTagLosses(all []state.Tag) {
	if len(all) == 0 {
		return
	}
	p.fan.Mu.Lock()
	accounts, enough := p.accounts.Lanes(maxLossLooks / len(all))
	p.fan.Mu.Unlock()
	for i := range all {
		if all[i].LossesUnknown = !enough; !enough {
			continue
		}
		var lost ledger.Counts
		for _, a := range accounts {
			a.AddLost(all[i].Tag, &lost)
		}
		all[i].LeftOut, all[i].Losses = lost[subscription.CauseLeftOut], portrait.Losses(&lost, new(ledger.Times))
	}
}

// shownAtOnce is how many peers are looked at while others wait for the lock.
const shownAtOnce = 128

// portrayAll fills in what is of all peers, and returns those of whom more is to be shown.
func (p *publisherImpl) portrayAll(st *state.State, q state.Question, now time.Time) (shown []rankedLink, eps []netio.Endpoint) {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	fan, sums := p.fan.Stats(), p.accounts.Sums()
	st.Messages, st.PayloadBytes = fan.Messages, fan.Bytes
	st.LeftOut, st.Losses = sums.Lost[subscription.CauseLeftOut], portrait.Losses(&sums.Lost, &sums.Times)
	x := st.Sending
	x.QueueBytes, x.Refusals, x.Replayed, x.Unconfirmed = fan.LaneLimit, fan.Refusals, fan.Replayed, sums.Unconfirmed
	x.Streams, x.CachedMessages, x.CachedBytes = fan.Streams, fan.Cached, fan.CachedBytes
	x.PoolMinFreePages = p.minPagesFree.add(now, p.pool.MinFree())

	first := portrait.NewFirst(q.Peers, func(a, b rankedLink) int { return portrait.Before(a.Rank, b.Rank) })
	st.Connected = len(p.links)
	var by backendCounts
	for l := range p.links {
		by.add(l.peer.Backend, 1)
		past := p.pastOf(l)
		r := rankedLink{portrait.Rank{Stalled: l.stalledAt.Load() != 0, CutOff: past.CutOff(now), Fullest: l.out.Fullest(), Name: l.peer.Instance}, l}
		for _, n := range l.out.Lanes {
			sums := n.Account.Sums()
			r.Lost += portrait.Lost(&sums.Lost)
		}
		if r.Stalled {
			st.Stalled++
		}
		st.Fullest = max(st.Fullest, r.Fullest)
		first.Add(r)
		eps = append(eps, l.ep)
	}
	st.ByBackend = by.portray()
	gone := portrait.Latest(p.accounts.Gone(), q.Peers, now, func(a *ledger.Account[*link, member]) (*portrait.Past, time.Time) { return &a.Peer.past, a.Peer.ended })
	for _, a := range gone {
		m := &a.Peer
		peer := m.peer.portray(m.since)
		peer.Messages, peer.Bytes, peer.Pages = m.messages, m.bytes, m.pages
		peer.Ended, peer.Heard = portrait.Time(m.ended), portrait.Time(m.heard)
		if m.cause != nil {
			peer.Reason = portrait.Reason(m.cause)
		}
		m.past.Show(&peer)
		var lost ledger.Sums
		for _, n := range a.Lanes() {
			addLane(&peer, n, &lost)
		}
		endLanes(&peer, &lost)
		st.Gone = append(st.Gone, peer)
	}
	return first.Sorted(), eps
}

// wanted returns which of the tags of a small set lanes want. fan.Mu is held.
func (p *publisherImpl) wanted(set tags.Set) map[subscription.LaneID][]tags.Tag {
	if n, exact := set.Count(); n == 0 || !exact || n > state.MaxWanted {
		return nil
	}
	lanes := make(map[subscription.LaneID][]tags.Tag)
	for tag := range set.All() {
		for _, lane := range p.fan.Wanting(tag) {
			lanes[lane] = append(lanes[lane], tag)
		}
	}
	return lanes
}

// portray returns the state of a subscriber. fan.Mu is held.
//
//   - wanted: which of the tags that are asked for lanes want.
func (l *link) portray(now time.Time, wanted map[subscription.LaneID][]tags.Tag) state.Peer {
	peer := l.peer.portray(l.since)
	out, room := l.out.Stats(), l.ep.Room()
	peer.Messages, peer.Bytes, peer.Pages = out.Messages, out.Bytes, out.Pages
	known := [...]int{room.Sends, l.minSendsFree.add(now, room.MinSends), 0, 0} // one allocation
	peer.FreeSends, peer.MinFree, peer.Queued, peer.QueueLimit = &known[0], &known[1], &known[2], &known[3]
	peer.Heard = portrait.Time(l.pulse.Heard())
	past := l.pub.pastOf(l)
	past.Show(&peer)
	if at := l.stalledAt.Load(); at != 0 {
		peer.StalledSince = time.Unix(0, at).UTC()
	}
	var lost ledger.Sums
	for _, use := range out.Lanes {
		lane := addLane(&peer, use.Account, &lost)
		lane.Parts, lane.Queued, lane.QueueLimit = use.Parts, use.Queued, use.Limit
		lane.Messages += use.Sent
		lane.Wanted = wanted[use.ID]
		*peer.Queued += use.Queued
		*peer.QueueLimit += use.Limit
	}
	endLanes(&peer, &lost)
	return peer
}

// addLane adds a lane to the state of a peer, and its losses to lost.
func addLane(peer *state.Peer, a *ledger.Lane, lost *ledger.Sums) *state.Lane {
	sums := a.Sums()
	lost.Lost.Add(&sums.Lost)
	lost.Times.Add(&sums.Times)
	peer.Unconfirmed += sums.Unconfirmed
	peer.Lanes = append(peer.Lanes, state.Lane{
		Policy: a.Policy.String(), Messages: sums.Sent, Unconfirmed: sums.Unconfirmed,
		LeftOut: sums.Lost[subscription.CauseLeftOut], Losses: portrait.Losses(&sums.Lost, &sums.Times),
	})
	return &peer.Lanes[len(peer.Lanes)-1]
}

// endLanes completes the state of a peer that has all its lanes.
func endLanes(peer *state.Peer, lost *ledger.Sums) {
	peer.LeftOut, peer.Losses = lost.Lost[subscription.CauseLeftOut], portrait.Losses(&lost.Lost, &lost.Times)
	slices.SortFunc(peer.Lanes, func(a, b state.Lane) int { return cmp.Compare(a.Policy, b.Policy) })
}

// pastOf returns what is remembered of the subscriber of a connection. fan.Mu is held.
func (p *publisherImpl) pastOf(l *link) portrait.Past {
	if a := p.accounts.Of(l.peer.Instance); a != nil {
		return a.Peer.past
	}
	return portrait.Past{}
}

// remember adds the last connection, which has ended, to the past.
//
//   - unconfirmed: messages that it has left so.
//   - all: those, and what earlier ones have left.
func (m *member) remember(unconfirmed, all uint64) {
	if unconfirmed > 0 {
		m.past.Unconfirmed(m.heard, m.ended, all > unconfirmed)
	}
	if m.cause != nil {
		m.past.Broke(m.ended, m.cause, ErrStalled)
	}
}

// lossOfTag is a tag of which a lane has lost messages.
type lossOfTag struct {
	tag    tags.Tag
	policy string
	counts ledger.Counts
	lost   uint64
}

// portrayLostTags adds to each peer the tags of which it has lost most.
func (p *publisherImpl) portrayLostTags(peers []state.Peer, q state.Question) {
	if q.LostTags == 0 {
		return
	}
	for i := range peers {
		if state.Lost(peers[i].Losses) == 0 {
			continue
		}
		first := portrait.NewFirst(q.LostTags, func(a, b lossOfTag) int {
			return cmp.Or(cmp.Compare(b.lost, a.lost), cmp.Compare(a.tag, b.tag), cmp.Compare(a.policy, b.policy))
		})
		for _, n := range p.lanesWith(peers[i].Instance) {
			policy := n.Policy.String()
			n.Each(func(tag tags.Tag, counts *ledger.Counts) {
				if lost := portrait.Lost(counts); lost > 0 && (q.Tags.IsEmpty() || q.Tags.Contains(tag)) {
					first.Add(lossOfTag{tag, policy, *counts, lost})
				}
			})
		}
		for _, x := range first.Sorted() {
			peers[i].LostTags = append(peers[i].LostTags, state.LostTag{
				Tag: x.tag, Policy: x.policy, Losses: portrait.Losses(&x.counts, new(ledger.Times)),
			})
		}
	}
}
