// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"fmt"
	"slices"

	"tagbus/cmd/internal/overview"
)

// mostOfAKind is how many troubles of one kind are shown each by itself. One cause can make
// hundreds, behind which another one would not be seen.
const mostOfAKind = 3

// trouble is a row of what needs a look.
type trouble struct {
	level overview.Level
	id    string // of the kind
	name  string
	row   any
}

// worst returns what needs a look, the worst first: of each kind the first few, and a row for the
// rest.
//
//   - Result: the rows, and how many troubles there are.
func (m *model) worst() (rows []any, troubles int) {
	all := m.troubles()
	slices.SortStableFunc(all, func(a, b trouble) int {
		return cmp.Or(cmp.Compare(b.level, a.level), cmp.Compare(overview.Rank(a.id), overview.Rank(b.id)))
	})
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].id == all[from].id && all[to].level == all[from].level {
			to++
		}
		of := all[from:to]
		from = to
		shown := of
		if len(of) > mostOfAKind {
			shown = of[:mostOfAKind-1]
		}
		for _, t := range shown {
			rows = append(rows, t.row)
		}
		if rest := of[len(shown):]; len(rest) > 0 {
			rows = append(rows, more(rest))
		}
	}
	return rows, len(all)
}

// more returns the row for troubles of one kind that have none of their own.
func more(rest []trouble) problem {
	status := problemStatus[rest[0].id]
	if rest[0].id == overview.NoAnswer {
		status = "unreachable"
	}
	return problem{Kind: "problem", Name: fmt.Sprintf("%d more", len(rest)), Status: cmp.Or(status, rest[0].level.String()), Text: overview.Few(rest, func(t *trouble) string { return t.name })}
}

// troubles returns all that needs a look: those of one kind as they are to be shown.
func (m *model) troubles() (all []trouble) {
	type processTrouble struct {
		Kind string `json:"kind"`
		*process
	}
	type peerTrouble struct {
		Kind string `json:"kind"`
		*peer
	}
	for _, p := range m.processes {
		if p.Status == unreachable && !p.denied() {
			all = append(all, trouble{overview.Warning, overview.NoAnswer, cmp.Or(p.Name, p.ID), processTrouble{"process", p}})
		}
	}
	for _, p := range m.problems {
		all = append(all, trouble{p.level, p.id, p.Name, p})
	}
	peers := slices.Clone(m.peers)
	slices.SortStableFunc(peers, compareTrouble)
	for _, q := range peers {
		id := overview.Losing
		if q.Status == stalled {
			id = overview.PeerStalled
		}
		if q.Status >= losing {
			all = append(all, trouble{overview.Warning, id, cmp.Or(q.Name, q.ID), peerTrouble{"peer", q}})
		}
	}
	return all
}
