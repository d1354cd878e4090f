// SPDX-License-Identifier: Apache-2.0

//go:build linux

package losses

import (
	"slices"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/lossfile"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

// rowsOf returns what an answer says of losses: of its tags, or else of its peers.
func (r *reporter) rowsOf(s *state.State) []Row {
	b := &builder{asked: s.Time, self: overview.End{Instance: s.Instance, Name: s.Name, Host: s.Host, PID: s.PID}}
	b.sends = s.Role == state.Publisher || s.Role == state.Sender
	if r.perTag() {
		b.tags(s)
	} else {
		b.peers(s)
	}
	return b.rows
}

// builder makes rows of what one instance says.
type builder struct {
	self  overview.End
	asked time.Time
	sends bool
	rows  []Row
}

func (b *builder) add(tag *tags.Tag, peer overview.End, policy string, losses []state.Loss) {
	for _, l := range losses {
		if l.Messages == 0 {
			continue
		}
		row := Row{Tag: tag, Publisher: peer, Subscriber: b.self, Policy: policy, Cause: l.Cause, Messages: l.Messages, First: l.First, Last: l.Last, asked: b.asked}
		if b.sends {
			row.Publisher, row.Subscriber = b.self, peer
		}
		b.rows = append(b.rows, row)
	}
}

// peers adds what was lost with each peer in each lane, and the rest of what was lost with a
// peer, or with peers that the answer does not have.
func (b *builder) peers(s *state.State) {
	rest, unnamed := slices.Clone(s.Losses), uint64(0)
	if s.Sending != nil {
		unnamed = s.Sending.Unconfirmed
	}
	for _, list := range [][]state.Peer{s.Peers, s.Gone} {
		for i := range list {
			p := &list[i]
			peer := overview.End{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID}
			ofPeer := slices.Clone(p.Losses)
			open := p.Unconfirmed
			for j := range p.Lanes {
				lane := &p.Lanes[j]
				b.add(nil, peer, lane.Policy, lane.Losses)
				subtract(rest, lane.Losses)
				subtract(ofPeer, lane.Losses)
				b.unconfirmed(peer, lane.Policy, lane.Unconfirmed, p)
				open -= min(open, lane.Unconfirmed)
			}
			b.unconfirmed(peer, "", open, p)
			unnamed -= min(unnamed, p.Unconfirmed)
			b.add(nil, peer, "", ofPeer)
			subtract(rest, ofPeer)
		}
	}
	for i := range rest {
		if rest[i].Messages != overview.LostBy(s.Losses, rest[i].Cause) {
			rest[i].First = time.Time{} // those of the sum, which others may have lost
			rest[i].Last = time.Time{}
		}
	}
	b.add(nil, overview.End{}, "", rest)
	b.unconfirmed(overview.End{}, "", unnamed, new(state.Peer))
}

// Unconfirmed is the cause of rows of messages that are lost or received: the connection of their
// subscriber has ended before it has said.
const Unconfirmed = lossfile.Unconfirmed

// unconfirmed adds messages of connections that have ended, which were on their way since the
// peer was heard last.
func (b *builder) unconfirmed(peer overview.End, policy string, messages uint64, p *state.Peer) {
	if messages == 0 {
		return
	}
	l := state.Loss{Cause: Unconfirmed, Messages: messages}
	l.First, l.Last = overview.UnconfirmedSpan(p)
	b.add(nil, peer, policy, []state.Loss{l})
	b.rows[len(b.rows)-1].back = peer.Instance != "" && p.Ended.IsZero()
}

// tags adds what was lost of each tag that is asked for, by peer as far as the peers of the
// answer name it, and the rest of the tag.
func (b *builder) tags(s *state.State) {
	rest := make(map[tags.Tag][]state.Loss, len(s.Asked))
	for i := range s.Asked {
		rest[s.Asked[i].Tag] = slices.Clone(s.Asked[i].Losses)
	}
	for _, list := range [][]state.Peer{s.Peers, s.Gone} {
		for i := range list {
			p := &list[i]
			for j := range p.LostTags {
				lost := &p.LostTags[j]
				b.add(&lost.Tag, overview.End{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID}, lost.Policy, lost.Losses)
				subtract(rest[lost.Tag], lost.Losses)
			}
		}
	}
	for i := range s.Asked {
		b.add(&s.Asked[i].Tag, overview.End{}, "", rest[s.Asked[i].Tag])
	}
}

// subtract takes losses from others, as far as those have them.
func subtract(from, losses []state.Loss) {
	for i := range from {
		from[i].Messages -= min(from[i].Messages, overview.LostBy(losses, from[i].Cause))
	}
}
