// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"cmp"
	"errors"
	"time"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/portrait"
	"tagbus/bus/state"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// past is what a publisher remembers of the earlier connections of a subscriber. Each look at
// a subscriber that is cut off again and again finds a connection that is new and has no fault.
type past struct {
	broken, stalls uint64    // ended without goodbye; and of those, because it took nothing
	first, last    time.Time // when the first and the last of broken ended
	cause          error     // of the last
	openFrom       time.Time // since when messages are unconfirmed, or were so last: it was heard last then, before the first such connection ended,
	openTo         time.Time // and the last one ended here
}

// pastOf returns what is remembered of the subscriber of a connection. fan.Mu is held.
func (p *Publisher) pastOf(l *link) past {
	if a := p.accounts.Of(l.peer.Instance); a != nil {
		return a.Peer.past
	}
	return past{}
}

// add adds a connection that has ended.
//
//   - unconfirmed: messages that it has left so.
//   - all: those, and what earlier ones have left.
func (b *past) add(m *member, unconfirmed, all uint64) {
	if unconfirmed > 0 {
		b.openTo = m.ended
		if all == unconfirmed {
			b.openFrom = m.heard
		}
	}
	if m.cause == nil {
		return
	}
	if b.broken++; b.broken == 1 {
		b.first = m.ended
	}
	if errors.Is(m.cause, ErrStalled) {
		b.stalls++
	}
	b.last, b.cause = m.ended, m.cause
}

// portray puts it into the state of the subscriber.
func (b *past) portray(peer *state.Peer) {
	if !b.openTo.IsZero() {
		peer.UnconfirmedFrom, peer.UnconfirmedTo = portrait.Time(b.openFrom), portrait.Time(b.openTo)
	}
	if b.broken == 0 {
		return
	}
	peer.Broken, peer.StallsEnded = b.broken, b.stalls
	peer.FirstBroken, peer.LastBroken = portrait.Time(b.first), portrait.Time(b.last)
	peer.BrokenReason = sanitize.Cut(sanitize.Error(b.cause), state.MaxReason)
}

// lossOfTag is a tag of which a lane has lost messages.
type lossOfTag struct {
	tag    tags.Tag
	policy string
	counts ledger.Counts
	lost   uint64
}

// portrayLostTags adds to each peer the tags of which it has lost most.
func (p *Publisher) portrayLostTags(peers []state.Peer, q state.Question) {
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
