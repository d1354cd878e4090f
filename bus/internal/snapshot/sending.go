// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/topk"
	"tagbus/bus/internal/toptags"
	"tagbus/bus/state"
	"tagbus/subscription"
	"tagbus/tags"
)

// ShowSent adds what was sent to all peers to the state of a side that sends.
func ShowSent(st *state.State, fan fanout.Stats, sums ledger.Sums) {
	st.Messages, st.PayloadBytes = fan.Messages, fan.Bytes
	st.LeftOut, st.Losses = sums.Lost[subscription.CauseLeftOut], Losses(&sums.Lost, &sums.Times)
	x := st.Sending
	x.QueueBytes, x.Refusals, x.Replayed, x.Unconfirmed = fan.LaneLimit, fan.Refusals, fan.Replayed, sums.Unconfirmed
	x.Streams, x.CachedMessages, x.CachedBytes = fan.Streams, fan.Cached, fan.CachedBytes
}

// Wanted returns which of the tags of a small set lanes want. fan.Mu is held.
func Wanted(fan *fanout.Fanout, set tags.Set) map[subscription.LaneID][]tags.Tag {
	if n, exact := set.Count(); n == 0 || !exact || n > state.MaxWanted {
		return nil
	}
	lanes := make(map[subscription.LaneID][]tags.Tag)
	for tag := range set.All() {
		for _, lane := range fan.Wanting(tag) {
			lanes[lane] = append(lanes[lane], tag)
		}
	}
	return lanes
}

// Sends is how many messages the endpoint of a peer would take at once.
type Sends struct{ Free, MinFree int }

// ShowOutbox adds what is sent to a peer, and what waits for it.
//
//   - wanted: of Wanted.
func ShowOutbox(peer *state.Peer, out fanout.OutboxStats, sends Sends, wanted map[subscription.LaneID][]tags.Tag) {
	peer.Messages, peer.Bytes, peer.Pages = out.Messages, out.Bytes, out.Pages
	known := [...]int{sends.Free, sends.MinFree, 0, 0} // one allocation
	peer.FreeSends, peer.MinFree, peer.Queued, peer.QueueLimit = &known[0], &known[1], &known[2], &known[3]
	var lost ledger.Sums
	for _, use := range out.Lanes {
		lane := addLane(peer, use.Account, &lost)
		lane.Parts, lane.Queued, lane.QueueLimit = use.Parts, use.Queued, use.Limit
		lane.Messages += use.Sent
		lane.Wanted = wanted[use.ID]
		*peer.Queued += use.Queued
		*peer.QueueLimit += use.Limit
	}
	endLanes(peer, &lost)
}

// ShowAccounts adds what is counted for a peer that has gone.
func ShowAccounts(peer *state.Peer, lanes []*ledger.Lane) {
	var lost ledger.Sums
	for _, a := range lanes {
		addLane(peer, a, &lost)
	}
	endLanes(peer, &lost)
}

// addLane adds a lane to the state of a peer, and its losses to lost.
func addLane(peer *state.Peer, a *ledger.Lane, lost *ledger.Sums) *state.Lane {
	sums := a.Sums()
	lost.Lost.Add(&sums.Lost)
	lost.Times.Add(&sums.Times)
	peer.Unconfirmed += sums.Unconfirmed
	peer.Lanes = append(peer.Lanes, state.Lane{
		Policy: a.Policy.String(), Messages: sums.Sent, Unconfirmed: sums.Unconfirmed,
		LeftOut: sums.Lost[subscription.CauseLeftOut], Losses: Losses(&sums.Lost, &sums.Times),
	})
	return &peer.Lanes[len(peer.Lanes)-1]
}

// endLanes completes the state of a peer that has all its lanes.
func endLanes(peer *state.Peer, lost *ledger.Sums) {
	peer.LeftOut, peer.Losses = lost.Lost[subscription.CauseLeftOut], Losses(&lost.Lost, &lost.Times)
	slices.SortFunc(peer.Lanes, func(a, b state.Lane) int { return cmp.Compare(a.Policy, b.Policy) })
}

// Asked returns the states of the known tags of a set, of not too many of them.
func Asked(fan *fanout.Fanout, watch *toptags.Watch, now time.Time, set tags.Set) []state.Tag {
	if set.IsEmpty() {
		return nil
	}
	var known []fanout.Figures
	fan.FiguresOf(set, func(x fanout.Figures) (more bool) {
		known = append(known, x)
		return len(known) < state.MaxTags
	})
	slices.SortFunc(known, func(a, b fanout.Figures) int { return cmp.Compare(a.Tag, b.Tag) })
	return watch.Of(now, known)
}

// maxLossLooks bounds the work of AddLosses: tags times lanes.
const maxLossLooks = 1 << 15

// AddLosses adds to the states of tags what of them was lost in all lanes of a book, unless that is
// too much work.
//
//   - mu: guards the book.
func AddLosses[L comparable, P any](all []state.Tag, mu sync.Locker, book *ledger.Book[L, P]) {
	if len(all) == 0 {
		return
	}
	mu.Lock()
	lanes, enough := book.Lanes(maxLossLooks / len(all))
	mu.Unlock()
	for i := range all {
		if all[i].LossesUnknown = !enough; !enough {
			continue
		}
		var lost ledger.Counts
		for _, a := range lanes {
			a.AddLost(all[i].Tag, &lost)
		}
		all[i].LeftOut, all[i].Losses = lost[subscription.CauseLeftOut], Losses(&lost, new(ledger.Times))
	}
}

// lossOfTag is a tag of which a lane has lost messages.
type lossOfTag struct {
	tag    tags.Tag
	policy string
	counts ledger.Counts
	lost   uint64
}

// AddLostTags adds to each peer the tags of which it has lost most.
//
//   - lanes: returns those of an instance.
func AddLostTags(peers []state.Peer, q state.Question, lanes func(instance string) []*ledger.Lane) {
	if q.LostTags == 0 {
		return
	}
	for i := range peers {
		if state.Lost(peers[i].Losses) == 0 {
			continue
		}
		first := topk.New(q.LostTags, func(a, b lossOfTag) int {
			return cmp.Or(cmp.Compare(b.lost, a.lost), cmp.Compare(a.tag, b.tag), cmp.Compare(a.policy, b.policy))
		})
		for _, n := range lanes(peers[i].Instance) {
			policy := n.Policy.String()
			n.Each(func(tag tags.Tag, counts *ledger.Counts) {
				if lost := Lost(counts); lost > 0 && (q.Tags.IsEmpty() || q.Tags.Contains(tag)) {
					first.Add(lossOfTag{tag, policy, *counts, lost})
				}
			})
		}
		for _, x := range first.Sorted() {
			peers[i].LostTags = append(peers[i].LostTags, state.LostTag{
				Tag: x.tag, Policy: x.policy, Losses: Losses(&x.counts, new(ledger.Times)),
			})
		}
	}
}
