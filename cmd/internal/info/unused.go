// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"context"
	"fmt"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
)

// mostReasons is what a table of transports that are not used has at most.
const mostReasons = 8

// telling returns the answers of the subscribers that may say why they do not use a better
// transport.
func (l *looker) telling(ctx context.Context, rows []overview.Row) map[string]*state.State {
	if len(overview.UnusedWays(rows, nil)) == 0 {
		return nil
	}
	entries, _ := l.dir.List() // what is wrong with it was said
	return l.env.ClientStates(ctx, overview.Telling(rows, entries))
}

// unused writes which better transports are not used by how many connections, and why.
//
//   - clients: as of overview.UnusedWays.
//   - who: the side of a connection to be named.
func (p page) unused(rows []overview.Row, clients map[string]*state.State, who func(*overview.UnusedLink) string) {
	groups := overview.UnusedWays(rows, clients)
	t := table.New(p.out, false, table.Text("UNUSED").Key(), table.Text("VIA").Key(), table.Number("PEERS"), table.Text("WHY"), table.Text("WHO"))
	for i := range groups {
		g := &groups[i]
		if i == mostReasons {
			_ = t.Row(nil, fmt.Sprintf("%d more reasons", len(groups)-i))
			break
		}
		_ = t.Row(nil, g.Backend, g.Via, units.FormatCount(uint64(len(g.Links))), cli.Words(g.Reason),
			overview.Few(g.Links, func(l *overview.UnusedLink) string { return sanitize.Text(who(l)) }))
	}
	p.table(t)
}

// unusedOf writes the same of one subscriber, as its publishers know it.
//
//   - itself: its own answer; nil if it has given none.
func (p page) unusedOf(links []link, itself *state.State) {
	var rows []overview.Row
	clients := make(map[string]*state.State)
	for i := range links {
		k := &links[i]
		if k.Gone {
			continue
		}
		r, s := *k.Row, *k.By
		s.Peers = []state.Peer{k.Peer}
		r.State = &s
		rows = append(rows, r)
		clients[k.Instance] = itself
	}
	p.unused(rows, clients, func(l *overview.UnusedLink) string { return l.At.Label() })
}

// answerOf returns the answer of a client, or else what its entry says.
func answerOf(o overview.Overview, e *directory.Entry) *state.State {
	for i := range o.Rows {
		if r := &o.Rows[i]; r.Entry.Instance == e.Instance && r.State != nil {
			return r.State
		}
	}
	return &state.State{Instance: e.Instance, Host: e.Host, Backend: e.Backend}
}
