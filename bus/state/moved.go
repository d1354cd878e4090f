// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"time"
)

// Moved returns the state with all its times moved, as another clock shows them.
//
//   - d: by how much that clock is ahead; 0 returns the state as it is.
//   - The state itself is not changed; what has times is copied.
func (s State) Moved(d time.Duration) State {
	if d == 0 {
		return s
	}
	m := mover(d)
	m.times(&s.Time, &s.Since)
	s.Losses = m.losses(s.Losses)
	s.Peers, s.Gone = m.peers(s.Peers), m.peers(s.Gone)
	s.Busiest, s.Asked = m.tags(s.Busiest), m.tags(s.Asked)
	return s
}

// mover moves times.
type mover time.Duration

func (m mover) times(all ...*time.Time) {
	for _, t := range all {
		if !t.IsZero() {
			*t = t.Add(time.Duration(m))
		}
	}
}

func (m mover) peers(peers []Peer) []Peer {
	peers = slices.Clone(peers)
	for i := range peers {
		p := &peers[i]
		m.times(&p.Since, &p.Heard, &p.StalledSince, &p.Ended, &p.FirstBroken, &p.LastBroken, &p.UnconfirmedFrom, &p.UnconfirmedTo)
		p.Losses, p.Lanes, p.LostTags = m.losses(p.Losses), slices.Clone(p.Lanes), slices.Clone(p.LostTags)
		for j := range p.Lanes {
			p.Lanes[j].Losses = m.losses(p.Lanes[j].Losses)
		}
		for j := range p.LostTags {
			p.LostTags[j].Losses = m.losses(p.LostTags[j].Losses)
		}
	}
	return peers
}

func (m mover) tags(all []Tag) []Tag {
	all = slices.Clone(all)
	for i := range all {
		m.times(&all[i].Last)
		all[i].Losses = m.losses(all[i].Losses)
	}
	return all
}

func (m mover) losses(losses []Loss) []Loss {
	losses = slices.Clone(losses)
	for i := range losses {
		m.times(&losses[i].First, &losses[i].Last)
	}
	return losses
}
