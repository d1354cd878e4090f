// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"slices"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/words"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// model is a look, joined. It does not change any more.
type model struct {
	seq       uint64
	at        time.Time
	problem   string
	processes []*process
	peers     []*peer
	links     []*link
	tags      []*tag
	losses    []*loss
	problems  []problem // that no row of a process or peer shows; the worst first
	causes    []cause
	totals    totals
	known     map[string]*process
	knownPeer map[string]*peer
	details   map[string]*detail // of the instances that viewers look at
	means     []point            // of the time before the history
	history   []point            // all that are kept
	whole     bool               // peers were asked for
	hasTags   bool               // the busiest tags were asked for
	asked     tags.Set           // these were asked for
}

// newModel joins what a look has found.
func newModel(o overview.Overview) *model {
	o.OneClock()
	m := &model{at: o.Time, known: make(map[string]*process, len(o.Rows)), knownPeer: make(map[string]*peer)}
	if o.Problem != nil {
		m.problem = sanitize.Cut(words.Of(o.Problem.Error()), 500)
	}
	byTag := make(map[tags.Tag]*tag)
	byCause := make(map[state.Cause]cause)
	for i := range o.Rows {
		p := newProcess(&o.Rows[i])
		m.processes = append(m.processes, p)
		m.known[p.ID] = p
		if p.row.State == nil {
			continue
		}
		m.addPeers(p)
		m.addLosses(p)
		addTags(byTag, p)
		for _, c := range p.Causes {
			byCause[c.Cause] = byCause[c.Cause].and(c)
		}
	}
	for _, q := range m.knownPeer {
		m.peers = append(m.peers, q)
	}
	slices.SortFunc(m.peers, func(a, b *peer) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range byTag {
		m.tags = append(m.tags, t)
	}
	slices.SortFunc(m.tags, func(a, b *tag) int { return cmp.Compare(a.Tag, b.Tag) })
	for _, c := range byCause {
		m.causes = append(m.causes, c)
	}
	slices.SortFunc(m.causes, func(a, b cause) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.Cause, b.Cause))
	})
	m.causes = m.causes[:min(len(m.causes), 2*maxCauses)]
	m.judge(&o)
	m.sum()
	return m
}

func (c cause) and(d cause) cause {
	c.Cause = d.Cause
	c.Messages += d.Messages
	if c.First == 0 || d.First != 0 && d.First < c.First {
		c.First = d.First
	}
	c.Last = max(c.Last, d.Last)
	return c
}

// sum adds up the totals.
func (m *model) sum() {
	t := &m.totals
	t.Rate, t.Bytes, t.LossNow = noFigure, noFigure, noFigure
	t.Processes, t.Peers, t.Problems = len(m.processes), len(m.peers), len(m.problems)
	for _, p := range m.processes {
		t.Connections += p.Peers
		t.Stalled += p.Stalled
		t.Rate, t.Bytes, t.LossNow = t.Rate.plus(p.Rate), t.Bytes.plus(p.Bytes), t.LossNow.plus(p.LossNow)
		t.Lost += p.Lost
		if p.Role == string(state.Receiver) {
			t.Receivers++
		}
		if s := p.row.State; s != nil {
			t.Tags += s.KnownTags
			t.Messages += s.Messages
			t.LeftOut += s.Connected - min(len(s.Peers), s.Connected)
		}
		switch p.Status {
		case unreachable:
			if !p.denied() {
				t.Unreachable++
			}
		case losing:
			t.Losing++
		case stalled:
			if p.losing() {
				t.Losing++
			}
		case good, lost:
		}
	}
	stuck := 0
	for _, q := range m.peers {
		if q.Status == stalled {
			stuck++
		}
	}
	t.Stalled = max(t.Stalled, stuck)
}
