// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"slices"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
)

// detail is all that is known of one instance.
type detail struct {
	Process *process `json:"process,omitempty"` // nil: not in the directory
	Peer    *peer    `json:"peer,omitempty"`    // as its peers know it
	State   *figures `json:"state,omitempty"`   // what it says itself
	Peers   []*link  `json:"peers"`             // its connections, the worst first
	LeftOut int      `json:"left_out"`          // connections that Peers lacks
	Gone    []*link  `json:"gone,omitempty"`
	Tags    []*tag   `json:"tags,omitempty"` // the busiest
	Causes  []cause  `json:"causes,omitempty"`
}

// figures are those of state.State that have no other place.
type figures struct {
	Program   string           `json:"program"`
	Go        string           `json:"go"`
	Backend   string           `json:"backend"`
	Addresses []string         `json:"addresses,omitempty"`
	Ways      []string         `json:"ways,omitempty"`   // by other transports
	Unused    []unused         `json:"unused,omitempty"` // better transports than those of its connections
	Monitor   string           `json:"monitor,omitempty"`
	Tags      string           `json:"tags,omitempty"`
	TagParts  int              `json:"tag_parts"`
	Page      int              `json:"page_bytes,omitempty"`
	Message   int              `json:"max_message_bytes"`
	Messages  uint64           `json:"messages"`
	Bytes     uint64           `json:"payload_bytes"`
	LeftOut   uint64           `json:"left_out_messages"`
	Silent    uint64           `json:"silent_peers"`
	Broken    uint64           `json:"broken_connections"`
	Failing   bool             `json:"entry_failing"`
	Known     int              `json:"known_tags"`
	Sending   *state.Sending   `json:"sending,omitempty"`
	Receiving *state.Receiving `json:"receiving,omitempty"`
}

// patienceOfDetails bounds the questions for single instances, all together, on top of a look.
const patienceOfDetails = 500 * time.Millisecond

// detail returns all that is known of an instance.
func (h *hub) detail(ctx context.Context, m *model, id string) *detail {
	d := &detail{Process: m.known[id], Peer: m.knownPeer[id]}
	if d.Peer != nil && d.Process == nil {
		d.Peers, d.Causes = worst(d.Peer.links), d.Peer.Causes
		d.LeftOut = len(d.Peer.links) - len(d.Peers)
		for i, l := range d.Peers { // from the other side: the peer of a subscriber is its publisher
			other := *l
			other.ID, other.Name, other.Host, other.PID, other.Role = l.from.ID, l.from.Name, l.from.Host, l.from.PID, l.from.Role
			d.Peers[i] = &other
		}
		return d
	}
	if d.Process == nil || d.Process.row.State == nil {
		return d
	}
	s, err := h.source.Ask(ctx, d.Process.row, state.Question{Peers: peersOfOne, Busiest: tagsOfOne})
	if err != nil {
		s = *d.Process.row.State
	}
	s = overview.ByClockOf(d.Process.row.State, s)
	d.answered(&s)
	return d
}

// answered fills in what the instance says of itself.
func (d *detail) answered(s *state.State) {
	p := *d.Process
	p.row = &overview.Row{Entry: p.row.Entry, State: s, Before: p.row.Before}
	before := byInstance(p.row.Before)
	var links []*link
	for i := range s.Peers {
		links = append(links, newLink(&p, &s.Peers[i], before[key(&s.Peers[i])]))
	}
	d.Peers = worst(links)
	d.LeftOut = max(0, s.Connected-len(d.Peers))
	for i := range s.Gone {
		if len(d.Gone) < shownOfOne {
			d.Gone = append(d.Gone, newLink(&p, &s.Gone[i], nil))
		}
	}
	for i := range s.Busiest {
		if len(d.Tags) == shownOfOne {
			break
		}
		t := &tag{Tag: s.Busiest[i].Tag, By: p.Name, ByID: p.ID}
		t.add(&s.Busiest[i])
		d.Tags = append(d.Tags, t)
	}
	d.Causes = causesOf(s.Losses)
	d.State = &figures{
		Program: text(s.Program), Go: text(s.Go), Backend: text(s.Backend), Tags: sanitize.Line(s.Tags), TagParts: s.TagParts,
		Page: s.PageBytes, Message: s.MaxMessageBytes, Messages: s.Messages, Bytes: s.PayloadBytes, LeftOut: s.LeftOut,
		Silent: s.Silent, Broken: s.Broken, Failing: s.EntryFailing, Known: s.KnownTags, Sending: s.Sending, Receiving: s.Receiving,
	}
	d.State.Ways, d.State.Unused = waysOf(&p.row.Entry), unusedWays(p.row)
	if p.row.Entry.Monitor.IsValid() {
		d.State.Monitor = p.row.Entry.Monitor.String()
	}
	for _, a := range s.Addresses[:min(len(s.Addresses), 16)] {
		d.State.Addresses = append(d.State.Addresses, text(a))
	}
}

// shownOfOne is how many rows each table of an instance has.
const shownOfOne = 60

// worst returns copies of the links that need a look first.
func worst(links []*link) []*link {
	sorted := slices.Clone(links)
	slices.SortStableFunc(sorted, func(a, b *link) int { return compareTrouble(&a.peer, &b.peer) })
	return sorted[:min(len(sorted), shownOfOne)]
}
