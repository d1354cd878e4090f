// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"sync"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

const (
	// interval is the time between two looks.
	interval = time.Second

	// soonest is the time between two looks of which the second was not waited for,
	// because a viewer shows something that was not asked for.
	soonest = 250 * time.Millisecond

	// peersOfALook and tagsOfALook are how many peers and tags all answers of a look have
	// together, about.
	peersOfALook = 8192
	tagsOfALook  = 4096

	// peersOfOne and tagsOfOne are how many the answer of an instance has that a viewer
	// looks at.
	peersOfOne = 256
	tagsOfOne  = 128
)

// Source is what a page shows.
//
// Threads: one at a time.
type Source struct {
	// Look looks at all of it.
	Look func(context.Context, state.Question) overview.Overview

	// Ask asks one of the rows that Look has returned.
	Ask func(context.Context, *overview.Row, state.Question) (state.State, error)
}

// hub looks once a second, for all viewers, and without them for the history.
//
// Threads: any.
type hub struct {
	source Source
	ctx    context.Context //nolint:containedctx // that of the page, as long as it is served
	wake   chan struct{}

	mu      sync.Mutex
	viewers map[*viewer]struct{}
	running sync.WaitGroup
	last    *model
	ring    ring
}

// viewer is one stream.
type viewer struct {
	shown  shown
	models chan *model // the newest one: a slow viewer misses others
}

func newHub(ctx context.Context, source Source) *hub {
	h := &hub{source: source, ctx: ctx, wake: make(chan struct{}, 1), viewers: make(map[*viewer]struct{})}
	h.running.Go(h.run)
	return h
}

// join adds a viewer. ok is false if there are too many, or the page ends.
func (h *hub) join(s shown) (v *viewer, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.viewers) >= MaxViewers || h.ctx.Err() != nil {
		return nil, false
	}
	v = &viewer{shown: s, models: make(chan *model, 1)}
	h.viewers[v] = struct{}{}
	if h.last != nil && h.last.whole && time.Since(h.last.at) < 2*interval {
		v.models <- h.last
	}
	if h.last == nil || !h.last.answers(&s) {
		select {
		case h.wake <- struct{}{}:
		default: // one is enough
		}
	}
	return v, true
}

// answers reports whether the model has what a viewer shows.
func (m *model) answers(s *shown) bool {
	if !m.whole {
		return false
	}
	switch s.view {
	case "instance":
		return m.details[s.instance] != nil
	case "tags", "tag":
		t, err := m.asked.Union(s.asks()).Without(m.asked)
		return m.hasTags && err == nil && t.IsEmpty()
	}
	return true
}

func (h *hub) leave(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, v)
}

// run looks until the page ends.
func (h *hub) run() {
	var seq uint64
	var before time.Time
	for h.ctx.Err() == nil {
		began := time.Now()
		m := h.look(h.needs(), before.IsZero() || began.Sub(before) > 5*interval)
		if h.ctx.Err() != nil {
			return // it was cut off
		}
		before = began
		seq++
		m.seq = seq
		h.publish(m)
		h.rest(began)
	}
}

// rest waits for the next look.
func (h *hub) rest(began time.Time) {
	timer := time.NewTimer(max(soonest, interval-time.Since(began)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return
	case <-h.ctx.Done():
		return
	case <-h.wake:
	}
	short := time.NewTimer(max(0, soonest-time.Since(began)))
	defer short.Stop()
	select {
	case <-short.C:
	case <-h.ctx.Done():
	}
}

// needs is what the viewers show, together.
type needs struct {
	viewers   int
	tags      bool
	asked     tags.Set
	instances map[string]bool
	entries   int // of the last look
}

func (h *hub) needs() needs {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := needs{viewers: len(h.viewers), instances: make(map[string]bool), entries: 1}
	if h.last != nil {
		n.entries = max(1, len(h.last.processes))
	}
	for v := range h.viewers {
		switch v.shown.view {
		case "tags", "tag":
			n.tags = true
			n.asked = n.asked.Union(v.shown.asks())
		case "instance":
			n.instances[v.shown.instance] = true
		}
	}
	return n
}

// look asks all once.
//
//   - afresh: what was known before is too old for rates.
func (h *hub) look(n needs, afresh bool) *model {
	q := state.Question{Tags: n.asked}
	if n.viewers > 0 { // the history has sums only
		q.Peers = max(4, peersOfALook/n.entries)
	}
	if n.tags {
		q.Busiest = max(4, tagsOfALook/n.entries)
	}
	o := h.source.Look(h.ctx, q.Bounded())
	if afresh {
		for i := range o.Rows {
			o.Rows[i].Before = nil
		}
	}
	m := newModel(o)
	m.whole = n.viewers > 0
	m.hasTags, m.asked, m.details = n.tags, n.asked, make(map[string]*detail)
	ctx, cancel := context.WithTimeout(h.ctx, patienceOfDetails)
	defer cancel()
	for id := range n.instances { // in any order: none is always the last
		m.details[id] = h.detail(ctx, m, id)
	}
	return m
}

// publish gives the model to the viewers.
func (h *hub) publish(m *model) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring.add(m.point())
	m.means, m.history = h.ring.all()
	h.last = m
	if !m.whole { // a viewer that has come meanwhile has woken the next look
		return
	}
	for v := range h.viewers {
		select {
		case <-v.models: // it was not fetched
		default:
		}
		v.models <- m
	}
}

// point returns what the charts show of the model: nothing of a bus of which nothing answers.
func (m *model) point() point {
	p := point{seq: m.seq, unix: m.at.UnixMilli(), messages: m.totals.Rate, bytes: m.totals.Bytes, lost: m.totals.LossNow, stalled: noFigure}
	if m.totals.Processes > m.totals.Unreachable {
		p.stalled = figure(m.totals.Stalled)
	}
	return p
}
