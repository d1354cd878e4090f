// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"slices"

	"tagbus/cmd/internal/jsonline"
)

// frame is what a viewer gets of a look.
type frame struct {
	Seq      uint64    `json:"seq"`
	Time     int64     `json:"time"` // milliseconds
	View     string    `json:"view"`
	Scope    Scope     `json:"scope"`
	Problem  string    `json:"problem,omitempty"` // of the directory
	Totals   totals    `json:"totals"`
	History  *history  `json:"history,omitempty"` // what is new of it
	Causes   []cause   `json:"causes,omitempty"`
	Worst    []any     `json:"worst,omitempty"`   // processes, peers and problems that need a look
	Troubles int       `json:"troubles"`          // of which Worst has the first of each kind
	Fullest  []*peer   `json:"fullest,omitempty"` // queues
	Busiest  []busy    `json:"busiest,omitempty"`
	Table    *table    `json:"table,omitempty"`
	Topology *topology `json:"topology,omitempty"`
	Detail   *detail   `json:"detail,omitempty"`
	Tag      *tagPage  `json:"tag,omitempty"`
}

// Scope is what a page is about.
type Scope struct {
	Of       string `json:"of"`                 // "bus" or "process"
	Name     string `json:"name"`               // path or URL of the bus, or name of the process
	Instance string `json:"instance,omitempty"` // of the process
	Role     string `json:"role,omitempty"`     // of the process
	Version  string `json:"version,omitempty"`
}

// in returns the scope of a process with what the model says of it.
func (s Scope) in(m *model) Scope {
	if s.Of == ofProcess && len(m.processes) > 0 {
		first := m.processes[0]
		s.Instance, s.Role, s.Name = first.ID, first.Role, cmp.Or(first.Name, s.Name)
	}
	return s
}

// busy is a bar of the busiest processes.
type busy struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Rate  figure `json:"rate,omitzero"`
	Bytes figure `json:"bytes,omitzero"`
}

// fewRows is how many rows a list of the overview has.
const fewRows = 8

// frame returns what a viewer gets of the model.
func (m *model) frame(s *shown, scope Scope) frame {
	f := frame{Seq: m.seq, Time: m.at.UnixMilli(), View: s.view, Scope: scope, Problem: m.problem, Totals: m.totals}
	switch s.view {
	case "overview":
		m.overview(&f, s)
	case "processes":
		f.Table = ptr(cut(m.processes, s, processOrders, "status", func(p *process) string { return p.text }))
	case "peers":
		f.Table = ptr(cut(m.peers, s, peerOrders, "status", func(p *peer) string { return p.text }))
	case "tags":
		f.Table = ptr(cut(m.tags, s, tagOrders, "rate", func(t *tag) string { return t.text }))
	case "losses":
		f.Causes = m.causes
		f.Table = ptr(cut(m.losses, s, lossOrders, "last", func(l *loss) string { return l.text }))
	case "topology":
		f.Topology = m.topology(s.filter)
	case "instance":
		f.Detail = m.details[s.instance]
	case "tag":
		f.Tag = m.tagPage(s.tag)
	}
	return f
}

func ptr[T any](x T) *T { return &x }

// overview fills in what the first view shows.
func (m *model) overview(f *frame, s *shown) {
	known := s.since
	if known > m.seq { // of a server before this one
		known = 0
	}
	means := since(m.means, known)
	means = means[:min(len(means), frameLooks)]
	points := since(m.history, known)
	f.History = columns(means, points[:min(len(points), frameLooks-len(means))])
	f.Causes = m.causes
	f.Worst, f.Troubles = m.worst()
	f.Fullest = first(m.peers, func(a, b *peer) int { return cmp.Compare(b.Queue, a.Queue) })
	for _, p := range first(m.processes, func(a, b *process) int { return cmp.Compare(b.Rate, a.Rate) }) {
		f.Busiest = append(f.Busiest, busy{ID: p.ID, Name: p.Name, Rate: p.Rate, Bytes: p.Bytes})
	}
}

// first returns the first rows in an order.
func first[T any](rows []T, compare func(a, b T) int) []T {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, compare)
	return sorted[:min(len(sorted), fewRows)]
}

// encode returns a frame as an event of the stream.
func encode(f frame) ([]byte, error) {
	body, err := jsonline.Marshal(f)
	if err != nil {
		return nil, err
	}
	return append(append([]byte("data: "), body...), '\n', '\n'), nil
}
