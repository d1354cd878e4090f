// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"slices"
	"strings"

	"tagbus/bus/state"
)

const (
	maxNodes = 24  // on each side
	maxEdges = 300 // between them
)

// topology is the connections of the bus: the sides that send on the left, those that receive on the
// right. What is too much to see is grouped by host.
type topology struct {
	Grouped bool   `json:"grouped"` // a node is a host
	Left    []node `json:"left"`
	Right   []node `json:"right"`
	Edges   []edge `json:"edges"`

	// What is not shown, because it is in order and there is no room.
	LeftOutLeft  int `json:"left_out_left"`
	LeftOutRight int `json:"left_out_right"`
	LeftOutEdges int `json:"left_out_edges"`
}

// node is a process, or all of one side on one host.
type node struct {
	ID     string `json:"id,omitempty"`
	Label  string `json:"label"`
	Host   string `json:"host"`
	Count  int    `json:"count"`
	Status status `json:"status"`
	Rate   figure `json:"rate,omitzero"`

	receives bool // of one that is alone: it belongs to the right
	members  map[string]bool
}

// edge joins nodes by their index.
type edge struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Count  int    `json:"count"`
	Status status `json:"status"`
	Rate   figure `json:"rate,omitzero"`
}

// topology draws the connections of which an end matches a filter.
func (m *model) topology(filter string) *topology {
	words := strings.Fields(strings.ToLower(filter))
	var links []*link
	left, right := make(map[string]bool), make(map[string]bool)
	for _, l := range m.links {
		if matches(l.from.text, words) || matches(l.to.text, words) {
			links = append(links, l)
			from, to := l.ends()
			left[from.ID], right[to.ID] = true, true
		}
	}
	alone := m.alone(words)
	for _, n := range alone {
		if n.receives {
			right[n.ID] = true
		} else {
			left[n.ID] = true
		}
	}
	t := &topology{Grouped: len(left) > maxNodes || len(right) > maxNodes, Left: []node{}, Right: []node{}, Edges: []edge{}}
	t.draw(links, alone)
	return t
}

// alone returns the processes without a connection.
func (m *model) alone(words []string) (nodes []node) {
	connected := make(map[*process]bool, len(m.processes))
	for _, l := range m.links {
		connected[l.from] = true
	}
	for _, p := range m.processes {
		if !connected[p] && matches(p.text, words) {
			nodes = append(nodes, node{ID: p.ID, Label: p.Name, Host: p.Host, Status: p.Status, Rate: p.Rate, receives: p.receives()})
		}
	}
	return nodes
}

// receives reports whether the messages on the connections of a process come to it.
func (p *process) receives() bool {
	return p.Role == string(state.Subscriber) || p.Role == string(state.Receiver)
}

// ends returns both ends of a connection in the direction of the messages.
func (l *link) ends() (from, to node) {
	from = node{ID: l.from.ID, Label: l.from.Name, Host: l.from.Host, Status: l.Status, Rate: l.Rate}
	to = node{ID: l.to.ID, Label: l.to.Name, Host: l.to.Host, Status: l.Status, Rate: l.Rate}
	if l.from.receives() {
		from, to = to, from
	}
	return from, to
}

// side is one side under construction.
type side struct {
	grouped bool
	nodes   map[string]*node
}

func (s *side) add(n node) string {
	at := n.ID
	if s.grouped {
		at = n.Host
	}
	sum := s.nodes[at]
	if sum == nil {
		sum = &node{ID: n.ID, Label: n.Label, Host: n.Host, Rate: noFigure, members: make(map[string]bool)}
		if s.grouped {
			sum.ID, sum.Label = "", cmp.Or(n.Host, "(no host)")
		}
		s.nodes[at] = sum
	}
	if !sum.members[n.ID] {
		sum.members[n.ID] = true
		sum.Count++
	}
	sum.Status = max(sum.Status, n.Status)
	sum.Rate = sum.Rate.plus(n.Rate)
	return at
}

// pick returns the nodes that are shown, and their places.
func (s *side) pick() (nodes []node, places map[string]int, leftOut int) {
	keys := make([]string, 0, len(s.nodes))
	for k := range s.nodes {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		x, y := s.nodes[a], s.nodes[b]
		return cmp.Or(cmp.Compare(y.Status, x.Status), cmp.Compare(y.Rate, x.Rate), strings.Compare(a, b))
	})
	leftOut = max(0, len(keys)-maxNodes)
	keys = keys[:len(keys)-leftOut]
	slices.SortFunc(keys, func(a, b string) int { // where a node is does not change with its rate
		return cmp.Or(strings.Compare(s.nodes[a].Label, s.nodes[b].Label), strings.Compare(a, b))
	})
	nodes, places = make([]node, len(keys)), make(map[string]int, len(keys))
	for i, k := range keys {
		nodes[i], places[k] = *s.nodes[k], i
	}
	return nodes, places, leftOut
}

func (t *topology) draw(links []*link, alone []node) {
	left, right := side{t.Grouped, make(map[string]*node)}, side{t.Grouped, make(map[string]*node)}
	type pair struct{ from, to string }
	edges := make(map[pair]*edge)
	for _, l := range links {
		from, to := l.ends()
		at := pair{left.add(from), right.add(to)}
		e := edges[at]
		if e == nil {
			e = &edge{Rate: noFigure}
			edges[at] = e
		}
		e.Count++
		e.Status, e.Rate = max(e.Status, l.Status), e.Rate.plus(l.Rate)
	}
	for _, n := range alone {
		if n.receives {
			right.add(n)
		} else {
			left.add(n)
		}
	}
	var places, rightPlaces map[string]int
	t.Left, places, t.LeftOutLeft = left.pick()
	t.Right, rightPlaces, t.LeftOutRight = right.pick()
	for at, e := range edges {
		from, shown := places[at.from]
		to, alsoShown := rightPlaces[at.to]
		if !shown || !alsoShown {
			t.LeftOutEdges++
			continue
		}
		e.From, e.To = from, to
		t.Edges = append(t.Edges, *e)
	}
	slices.SortFunc(t.Edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(b.Status, a.Status), cmp.Compare(b.Count, a.Count), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	if over := len(t.Edges) - maxEdges; over > 0 {
		t.Edges, t.LeftOutEdges = t.Edges[:maxEdges], t.LeftOutEdges+over
	}
}
