// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"tagbus/cmd/internal/overview"
)

// judgeFlow says where messages do not flow, from two answers of each instance. What is wrong
// is for package overview to decide, as for all tools.
func judgeFlow(s *seen) []Finding {
	f := &findings{group: "flow"}
	o := overview.Overview{Rows: s.rows()}
	problems := o.Problems()
	wanting := make(map[string]bool) // clients of which their entries say what they want
	for i := range s.dialers {
		wanting[s.dialers[i].Instance] = true
	}
	for i := range problems {
		switch p := &problems[i]; {
		case p.ID == overview.EntryFailing: // judgeAnswers tells of it
		case p.ID == overview.TagsDenied && wanting[p.Culprit.Instance]: // as judgeContacts does, better
		default:
			f.judged(p)
		}
	}
	whole := !slices.ContainsFunc(o.Rows, func(r overview.Row) bool { return r.Before == nil }) // else what has happened meanwhile is not known
	if len(o.Rows) > 0 && whole && !slices.ContainsFunc(problems, func(p overview.Problem) bool { return p.Level >= Warning }) {
		f.ok(s.bus, "no program stalls, and nothing was lost while this command looked")
	}
	return f.sorted()
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
