// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
)

// unused is a transport that is better than that of some connections of an instance.
type unused struct {
	Backend string `json:"backend"`
	Of      int    `json:"of"` // connections
	Reason  string `json:"reason"`
}

// addVia adds the transport of a connection, and a better one that it does not use.
func (l *link) addVia(r *overview.Row, q *state.Peer) {
	if q.Backend == "" {
		return
	}
	l.Via = []string{text(q.Backend)}
	if u, ok := r.Unused(q, nil); ok {
		l.Unused = []string{text(u.Backend) + ": " + text(u.Reason)}
	}
}

// unusedWays returns the better transports that the connections of an instance do not use.
func unusedWays(r *overview.Row) (all []unused) {
	for _, g := range overview.UnusedWays([]overview.Row{*r}, nil) {
		if len(all) < maxWays {
			all = append(all, unused{text(g.Backend), len(g.Links), text(g.Reason)})
		}
	}
	return all
}

// waysOf returns how an entry is dialed by other transports than its last one: "127.1.2.3:7 over shm".
func waysOf(e *directory.Entry) (all []string) {
	for _, way := range e.Ways {
		if len(way.Addresses) > 0 {
			all = append(all, way.Addresses[0].String()+" over "+text(way.Backend))
		}
	}
	return all
}

// some adds texts that are not there yet, as long as there is room for them.
func some(all, more []string, most int) []string {
	for _, s := range more {
		if len(all) < most && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
