// SPDX-License-Identifier: Apache-2.0

package losses

import (
	"slices"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

// rowsOf returns what an answer says of losses: of its tags, or else of its peers.
func (r *reporter) rowsOf(s *state.State) []Row {
	b := &builder{self: overview.End{Instance: s.Instance, Name: s.Name, Host: s.Host, PID: s.PID}}
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
	sends bool
	rows  []Row
}

func (b *builder) add(tag *tags.Tag, peer overview.End, policy string, losses []state.Loss) {
	for _, l := range losses {
		if l.Messages == 0 {
			continue
		}
		row := Row{Tag: tag, Publisher: peer, Subscriber: b.self, Policy: policy, Cause: l.Cause, Messages: l.Messages, First: l.First, Last: l.Last}
		if b.sends {
			row.Publisher, row.Subscriber = b.self, peer
		}
		b.rows = append(b.rows, row)
	}
}

// peers adds what was lost with each peer in each lane, and the rest of what was lost with a
// peer, or with peers that the answer does not have.
func (b *builder) peers(s *state.State) {
	rest := slices.Clone(s.Losses)
	for _, list := range [][]state.Peer{s.Peers, s.Gone} {
		for i := range list {
			p := &list[i]
			peer := overview.End{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID}
			ofPeer := slices.Clone(p.Losses)
			for j := range p.Lanes {
				b.add(nil, peer, p.Lanes[j].Policy, p.Lanes[j].Losses)
				subtract(rest, p.Lanes[j].Losses)
				subtract(ofPeer, p.Lanes[j].Losses)
			}
			b.add(nil, peer, "", ofPeer)
			subtract(rest, ofPeer)
		}
	}
	for i := range rest {
		if rest[i].Messages != lostFor(s.Losses, rest[i].Cause) {
			rest[i].First = time.Time{} // those of the sum, which others may have lost
			rest[i].Last = time.Time{}
		}
	}
	b.add(nil, overview.End{}, "", rest)
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
		from[i].Messages -= min(from[i].Messages, lostFor(losses, from[i].Cause))
	}
}

// lostFor returns how many messages were lost for a reason.
func lostFor(losses []state.Loss, cause state.Cause) (messages uint64) {
	for _, l := range losses {
		if l.Cause == cause {
			messages += l.Messages
		}
	}
	return messages
}
