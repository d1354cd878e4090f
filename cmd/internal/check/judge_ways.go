// SPDX-License-Identifier: Apache-2.0

package check

import (
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
)

// judgeWays says which connections could go by a better transport, and why they do not. That is
// no fault: data arrives all the same.
func judgeWays(s *seen) []Finding {
	f := &findings{group: "transports"}
	rows, known := s.rows(), 0
	for i := range rows {
		for j := range rows[i].State.Peers {
			if rows[i].State.Peers[j].Backend != "" {
				known++
			}
		}
	}
	groups := overview.UnusedWays(rows, s.clients)
	for i := range groups {
		g := &groups[i]
		if g.Do == "" {
			continue // it is meant to be so
		}
		f.add(Note, "transport-unused", s.bus, g.Do, "%s by %s, not %s, because %s: %s",
			connectionsOf(g), cli.Words(g.Via), cli.Words(g.Backend), cli.Words(g.Reason), pairs(g.Links))
		f.differs(g.Backend + " " + g.Via + " " + g.Reason)
	}
	if known > 0 && len(f.all) == 0 {
		f.ok(s.bus, "%s by the best transport that both ends have", count(known, "connection is", "connections are"))
	}
	return f.sorted()
}

// connectionsOf counts the connections of a group, with their verb.
func connectionsOf(g *overview.UnusedGroup) string {
	where, verb := "", "are"
	if g.WithinHost() {
		where = " within one host"
	}
	if len(g.Links) == 1 {
		verb = "is"
	}
	return count(len(g.Links), "connection", "connections") + where + " " + verb
}

// pairs names the ends of the first few connections.
func pairs(links []overview.UnusedLink) string {
	return overview.Few(links, func(l *overview.UnusedLink) string { return l.Peer.Called() + " with " + l.At.Called() })
}
