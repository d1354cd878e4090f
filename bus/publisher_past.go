// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"cmp"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/portrait"
	"tagbus/bus/state"
	"tagbus/tags"
)

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
