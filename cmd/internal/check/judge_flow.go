// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"tagbus/bus/directory"
	"tagbus/cmd/internal/overview"
)

// judgeFlow says where messages do not flow, from two answers of each instance. What is wrong
// is for package overview to decide, as for all tools.
func judgeFlow(s *seen) []Finding {
	f := &findings{group: "flow"}
	o := overview.Overview{Rows: s.rows()}
	problems := o.Problems()
	for i := range problems {
		if p := &problems[i]; !s.isTold(p) {
			f.judged(p)
		}
	}
	if len(o.Rows) > 0 && !slices.ContainsFunc(problems, func(p overview.Problem) bool { return p.Level >= Warning }) {
		f.ok(s.bus, "no program stalls, and nothing was lost while this command looked")
	}
	return f.sorted()
}

// isTold reports whether another judge tells of a problem: that of answers, or that of contacts, which
// knows of clients with an entry what they want.
func (s *seen) isTold(p *overview.Problem) bool {
	isCulprit := func(e directory.Entry) bool { return e.Instance == p.Culprit.Instance }
	return p.ID == overview.EntryFailing || p.ID == overview.TagsDenied && slices.ContainsFunc(s.dialers, isCulprit)
}

// rows returns what the instances have answered.
func (s *seen) rows() []overview.Row {
	return slices.DeleteFunc(s.everyone(), func(r overview.Row) bool { return r.State == nil })
}

// everyone returns the instances, with what they have answered, if they have.
func (s *seen) everyone() (rows []overview.Row) {
	for _, e := range s.living() {
		now := e.state()
		if now == nil {
			rows = append(rows, overview.Row{Entry: e.Entry})
			continue
		}
		row := overview.Row{Entry: e.Entry, State: now}
		if before := e.first.state; e.second.state != nil && before != nil && before.Instance == now.Instance {
			row.Before = before
		}
		rows = append(rows, row)
	}
	return rows
}
