// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/units"
)

// peerWord returns what the peers of a role are, for a title.
func peerWord(role state.Role) string { return cmp.Or(string(overview.Opposite(role)), "peer") }

// peers writes the peers of an instance, and what was lost to which.
//
//   - clients: as of overview.UnusedWays.
func (p page) peers(r *overview.Row, clients map[string]*state.State) {
	s := r.State
	word := peerWord(s.Role)
	text := units.FormatCount(uint64(s.Connected))
	if s.Stalled > 0 {
		text += fmt.Sprintf(", %d of them stalled: they take nothing", s.Stalled)
	}
	if len(s.Peers) < s.Connected {
		text += fmt.Sprintf("; the first %d below", len(s.Peers))
	}
	p.say(word+"s", "%s", text)
	t := table.New(p.out, false, laneColumns(word)...)
	slices.SortFunc(s.Peers, func(a, b state.Peer) int { return worstFirst(&a, &b) })
	for i := range s.Peers {
		addLanes(t, name(s.Peers[i].Name, s.Peers[i].Instance), s, &s.Peers[i])
	}
	p.table(t)
	p.unused([]overview.Row{*r}, clients, func(l *overview.UnusedLink) string { return l.Peer.Label() })
	p.losses("LOST TO "+strings.ToUpper(word), append(s.Peers[:len(s.Peers):len(s.Peers)], s.Gone...))
	p.denied("DENIED TO "+strings.ToUpper(word), s.Peers)
	p.cutOff("CUT OFF", append(s.Peers[:len(s.Peers):len(s.Peers)], s.Gone...))
	t = table.New(p.out, false, table.Text("GONE"), table.Text("HOST"), table.Number("PID"), table.Number("SENT"), table.Number("LOST"), table.Number("UNCONFIRMED"), table.Whole("HEARD"))
	for _, g := range s.Gone {
		_ = t.Row(nil, name(g.Name, g.Instance), g.Host, units.FormatKnown(g.PID), units.FormatCount(g.Messages), units.FormatCount(state.Lost(g.Losses)), units.FormatCount(g.Unconfirmed), units.FormatAgo(s.Time, g.Heard))
	}
	p.table(t)
}

// worstFirst orders peers: those that are stalled, for longest, then those that have lost most,
// then by name, so that a row is where it was a look before.
func worstFirst(a, b *state.Peer) int {
	stalled := func(p *state.Peer) int64 {
		if p.StalledSince.IsZero() {
			return math.MaxInt64
		}
		return p.StalledSince.UnixNano()
	}
	return cmp.Or(
		cmp.Compare(stalled(a), stalled(b)), cmp.Compare(state.Lost(b.Losses), state.Lost(a.Losses)),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Instance, b.Instance),
	)
}

// denied writes what the policies of publishers do not let subscribers have.
func (p page) denied(title string, peers []state.Peer) {
	t := table.New(p.out, false, table.Text(title).Key(), table.Text("TAGS").Key())
	for i := range peers {
		if q := &peers[i]; q.Denied != "" {
			_ = t.Row(nil, name(q.Name, q.Instance), q.Denied)
		}
	}
	p.table(t)
}

// cutOff writes which connections have ended without goodbye, of each of some peers. One that is
// cut off again and again is connected, and new, at each look.
func (p page) cutOff(title string, peers []state.Peer) {
	t := table.New(p.out, false, table.Text(title).Key(), table.Number("TIMES").Key(), table.Number("STALLED"), table.Whole("FIRST"), table.Whole("LAST"), table.Text("WHY"))
	for i := range peers {
		if q := &peers[i]; q.Broken > 0 {
			_ = t.Row(nil, name(q.Name, q.Instance), units.FormatCount(q.Broken), units.FormatCount(q.StallsEnded),
				units.FormatTime(q.FirstBroken), units.FormatTime(q.LastBroken), cli.Words(q.BrokenReason))
		}
	}
	p.table(t)
}

// table writes a table after an empty line, if it has rows.
func (p page) table(t *table.Table) {
	if t.Len() > 0 {
		fmt.Fprintln(p.out)
		_ = t.Flush() // what cannot be written to ends the command elsewhere
	}
}

// laneColumns are those of a table of peers.
func laneColumns(word string) []table.Column {
	return []table.Column{
		table.Text(strings.ToUpper(word)), table.Text("HOST"), table.Number("PID"), table.Text("VIA"), table.Text("POLICY"),
		table.Number("QUEUE"), table.Number("LIMIT"), table.Number("SENT"), table.Number("LEFT-OUT"), table.Number("LOST"), table.Number("UNCONFIRMED"),
		table.Whole("STALLED"), table.Whole("HEARD"), table.Number("RTT"), table.Number("RESENT"),
	}
}

// addLanes adds a row for each policy of a peer.
//
//   - by: which tells of the peer, with times by its clock. If it receives, it knows no queue, and what the system sends
//     again for it is not of its messages.
func addLanes(t *table.Table, called string, by *state.State, p *state.Peer) {
	lanes := p.Lanes
	if len(lanes) == 0 {
		lanes = []state.Lane{{Messages: p.Messages, LeftOut: p.LeftOut, Losses: p.Losses, Unconfirmed: p.Unconfirmed}}
		if p.Queued != nil && p.QueueLimit != nil {
			lanes[0].Queued, lanes[0].QueueLimit = *p.Queued, *p.QueueLimit
		}
	}
	stalled, rtt := "", ""
	if !p.StalledSince.IsZero() {
		stalled = units.FormatAge(by.Time.Sub(p.StalledSince))
	}
	if p.RoundTrip > 0 {
		rtt = units.FormatDuration(time.Duration(p.RoundTrip * float64(time.Second)))
	}
	resent := ""
	if p.Path != nil && by.Sending != nil {
		resent = units.FormatCount(p.Path.Retransmitted)
	}
	for _, l := range lanes {
		queued, limit, unconfirmed := "", "", ""
		if p.QueueLimit != nil {
			queued, limit = units.Bytes(l.Queued).String(), units.Bytes(l.QueueLimit).String()
		}
		if by.Sending != nil {
			unconfirmed = units.FormatCount(l.Unconfirmed)
		}
		_ = t.Row(nil, called, p.Host, units.FormatKnown(p.PID), p.Backend, l.Policy, queued, limit,
			units.FormatCount(l.Messages), units.FormatCount(l.LeftOut), units.FormatCount(state.Lost(l.Losses)), unconfirmed,
			stalled, units.FormatAgo(by.Time, p.Heard), rtt, resent)
	}
}

// losses writes what was lost between an instance and each of some peers, by cause.
func (p page) losses(title string, peers []state.Peer) {
	t := table.New(p.out, false, table.Text(title).Key(), table.Text("POLICY"), table.Text("CAUSE"), table.Number("COUNT").Key(), table.Whole("FIRST"), table.Whole("LAST"))
	for _, peer := range peers {
		called := name(peer.Name, peer.Instance)
		add := func(policy string, losses []state.Loss) {
			for _, l := range losses {
				_ = t.Row(nil, called, policy, string(l.Cause), units.FormatCount(l.Messages), units.FormatTime(l.First), units.FormatTime(l.Last))
			}
		}
		byLane := false
		for _, l := range peer.Lanes {
			byLane = byLane || len(l.Losses) > 0
			add(l.Policy, l.Losses)
		}
		if !byLane {
			add("", peer.Losses)
		}
	}
	p.table(t)
}

// busiest writes the tags of the highest rates.
func (p page) busiest(s *state.State) {
	t := table.New(p.out, false, tagColumns(table.Tags("TAG"))...)
	for i := range s.Busiest {
		addTag(t, s.Busiest[i].Tag.String(), s, &s.Busiest[i])
	}
	if t.Len() > 0 && t.Len() < s.KnownTags {
		fmt.Fprintf(p.out, "\nThe busiest of %s tags:\n", units.FormatCount(uint64(s.KnownTags)))
		_ = t.Flush()
		return
	}
	p.table(t)
}

// tagColumns are those of a table of tags.
func tagColumns(first table.Column) []table.Column {
	return []table.Column{
		first.Key(), table.Number("MESSAGES"), table.Number("BYTES"), table.Number("MSG/S"), table.Number("MB/S"),
		table.Number("SUBS"), table.Number("LEFT-OUT"), table.Number("LOST"), table.Whole("LAST"),
	}
}

// addTag adds a row with what was published or received of a tag.
//
//   - by: which tells of it. One that receives counts messages and losses alone.
func addTag(t *table.Table, first string, by *state.State, tag *state.Tag) {
	bytes, peers, last, leftOut, lost := "", "", "", "", ""
	if by.Sending != nil {
		bytes, peers = units.FormatBytes(float64(tag.PayloadBytes)), units.FormatCount(uint64(tag.Peers))
		last = cmp.Or(units.FormatAgo(by.Time, tag.Last), "never")
	}
	if !tag.LossesUnknown {
		leftOut, lost = units.FormatCount(tag.LeftOut), units.FormatCount(state.Lost(tag.Losses))
	}
	_ = t.Row(nil, first, units.FormatCount(tag.Messages), bytes, units.FormatKnownFigure(tag.MessageRate, 1),
		units.FormatKnownFigure(tag.ByteRate, 1e6), peers, leftOut, lost, last)
}
