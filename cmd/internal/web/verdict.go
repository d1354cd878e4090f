// SPDX-License-Identifier: Apache-2.0

package web

import (
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/words"
	"tagbus/internal/sanitize"
)

// problem is what is wrong with something that has no row of its own with that status.
type problem struct {
	Kind   string `json:"kind"` // "problem"
	ID     string `json:"id"`   // of the instance; empty: of the directory
	Name   string `json:"name"`
	Status string `json:"status"`
	Text   string `json:"text"`
	Do     string `json:"do,omitempty"`

	id    string // of the kind
	level overview.Level
}

// problemStatus is the word for problems.
var problemStatus = map[string]string{
	overview.PeerStalled: "stalled", overview.Losing: "losing", overview.PeerGone: "gone", overview.StaleEntry: "gone", overview.Unconfirmed: "unconfirmed",
	overview.PeerCutOff: "cut off",
}

// problemBytes limits the text of a problem in a frame.
const problemBytes = 400

// judge takes over what overview finds, which decides for all tools: the page is all right
// only when they are.
func (m *model) judge(o *overview.Overview) {
	type ends struct{ from, to string }
	var links map[ends]*link
	stuck := make(map[*process]int)
	mark := func(p *overview.Problem, s status) {
		if links == nil {
			links = make(map[ends]*link, len(m.links))
			for _, l := range m.links {
				links[ends{l.from.ID, l.ID}] = l
			}
		}
		if l := links[ends{p.Witness.Instance, text(p.Culprit.Instance)}]; l != nil {
			l.Status, l.to.Status = max(l.Status, s), max(l.to.Status, s)
			if s == stalled && l.Stalled == 0 {
				l.Stalled = millis(p.First)
				if l.to.Stalled == 0 {
					l.to.Stalled = l.Stalled
				}
			}
		}
		if w := m.known[p.Witness.Instance]; w != nil {
			w.Status = max(w.Status, s)
			if s == stalled {
				stuck[w]++
				w.Stalled = max(w.Stalled, stuck[w])
			}
		}
	}
	groups := overview.Groups(o.Problems())
	for i := range groups {
		g := &groups[i]
		if g.Level < overview.Warning {
			continue
		}
		switch g.ID {
		case overview.NoAnswer: // its row says so
			continue
		case overview.PeerStalled:
			for j := range g.Problems {
				mark(&g.Problems[j], stalled)
			}
		case overview.Losing:
			for j := range g.Problems {
				mark(&g.Problems[j], losing)
			}
		case overview.DirectoryProblem, overview.DirectoryAway: // stands above all
			continue
		}
		if q := m.knownPeer[text(g.Culprit.Instance)]; q != nil && q.Status >= losing && (g.ID == overview.PeerStalled || g.ID == overview.Losing) {
			continue // its row says so
		}
		m.problems = append(m.problems, newProblem(g))
	}
}

func newProblem(g *overview.Group) problem {
	p := problem{
		Kind: "problem", ID: text(g.Culprit.Instance), Name: sanitize.Cut(g.Culprit.Called(), 2*textBytes), Status: problemStatus[g.ID],
		Text: sanitize.Cut(words.Of(g.Text()), problemBytes), Do: g.Do(), id: g.ID, level: g.Level,
	}
	if p.Status == "" {
		p.Status = g.Level.String()
	}
	return p
}

// denied reports whether a process does not tell of itself, which is no fault.
func (p *process) denied() bool {
	problems := (&overview.Overview{Rows: []overview.Row{*p.row}}).Problems()
	return p.row.State == nil && overview.Worst(problems) < overview.Warning
}
