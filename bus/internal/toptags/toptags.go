// SPDX-License-Identifier: Apache-2.0

// Package toptags measures how many messages a second tags have, and finds those with the most.
//
// Nothing is measured before the first question, and nothing is remembered a while after
// the last one. Each question goes a step of a walk over all known tags. The walk notes
// what a tag has, and a rate is the difference to the visit before. Of few tags each step
// visits all. Of many it visits some: thousands for each second since the step before, so
// that a round takes no longer than a rate is good for. The busiest tags found so far are
// visited in each step.
package toptags

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"tagbus/bus/internal/coarseclock"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/topk"
	"tagbus/bus/state"
)

const (
	visitsPerSecond = 8192 // at least
	longestRound    = 16   // seconds, for questions that come each second
	mostSeconds     = 4    // that a step makes up for

	shortest = 900 * time.Millisecond // between the two visits of a rate
	longest  = 30 * time.Second       // between them, and that a rate is good for
	patience = 10 * time.Second       // after the last question everything is forgotten
)

// Source knows the tags: *fanout.Fanout.
type Source interface {
	KnownTags() int
	Figures(from, n int, f func(fanout.Figures)) (read int)
	FiguresAt(numbers []int, f func(fanout.Figures))
}

// Watch measures the tags of a source.
//
// Threads: any.
type Watch struct {
	mu     sync.Mutex
	source Source
	began  time.Time // what is measured does not depend on the clock on the wall, which may be set
	visits []visit   // by the number of the tag
	next   int       // tag of the walk
	step   int64     // time of the last step, since began; 0: none
	top    []ranked
	forget *time.Timer

	Visits int // so far: for tests
}

// visit is what a tag had at a time.
type visit struct {
	messages, bytes       uint64
	at                    int64   // time since Watch.began; 0: there was none
	messageRate, byteRate float64 // each second; negative: not known
}

// ranked is a tag that may be one of the busiest.
type ranked struct {
	number   int
	rate     float64
	messages uint64
}

// New returns a watch that has seen nothing.
func New(source Source) *Watch { return &Watch{source: source, began: time.Now()} }

// since returns the time since the watch began, in nanoseconds, never 0.
func (w *Watch) since(now time.Time) int64 { return max(int64(now.Sub(w.began)), 0) + 1 }

// Busiest returns the tags with the most messages a second, at most so many. Those whose
// rates are not known follow, by their messages. now is as time.Now returns it.
func (w *Watch) Busiest(now time.Time, most int) (all []state.Tag) {
	if most <= 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked()
	w.walk(now)
	w.source.FiguresAt(numbers(w.top[:min(most, len(w.top))]), func(x fanout.Figures) { all = append(all, w.tag(now, x)) })
	return all
}

// Of returns what is known of some tags, and measures them.
func (w *Watch) Of(now time.Time, some []fanout.Figures) (all []state.Tag) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked()
	for _, x := range some {
		w.visit(now, x)
		all = append(all, w.tag(now, x))
	}
	return all
}

// asked puts off that everything is forgotten.
func (w *Watch) asked() {
	if w.forget == nil {
		w.forget = time.AfterFunc(patience, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.visits, w.top, w.next, w.step = nil, nil, 0, 0
		})
		return
	}
	w.forget.Reset(patience)
}

// walk goes a step, unless the last one was just now.
func (w *Watch) walk(now time.Time) {
	at := w.since(now)
	passed := time.Duration(at - w.step)
	if w.step == 0 {
		passed = time.Second
	}
	if passed < shortest {
		return
	}
	w.step = at
	known := w.source.KnownTags()
	budget := max(visitsPerSecond, known/longestRound) * min(max(1, int(passed.Round(time.Second)/time.Second)), mostSeconds)
	first := topk.New(state.MaxTags, before)
	w.makeRoom(known)
	take := func(x fanout.Figures) {
		v := w.visit(now, x)
		first.Add(ranked{x.Number, v.messageRate, x.Messages})
	}
	for left := min(budget, known); left > 0; {
		read := w.source.Figures(w.next, min(left, known-w.next), take)
		left -= read
		w.next = (w.next + read) % known
	}
	old := slices.DeleteFunc(w.top, func(r ranked) bool { return w.visits[r.number].at == at })
	w.source.FiguresAt(numbers(old), take)
	w.top = first.Sorted()
}

func numbers(of []ranked) []int {
	all := make([]int, len(of))
	for i, r := range of {
		all[i] = r.number
	}
	return all
}

func before(a, b ranked) int {
	return cmp.Or(cmp.Compare(b.rate, a.rate), cmp.Compare(b.messages, a.messages), cmp.Compare(a.number, b.number))
}

// makeRoom makes room for the visits of so many tags.
func (w *Watch) makeRoom(tags int) {
	if more := tags - len(w.visits); more > 0 {
		w.visits = append(w.visits, make([]visit, more)...)
	}
}

// visit notes what a tag has, and measures its rates, unless the last visit was just now.
func (w *Watch) visit(now time.Time, x fanout.Figures) *visit {
	w.makeRoom(x.Number + 1) // it may be new
	v := &w.visits[x.Number]
	w.Visits++
	at := w.since(now)
	passed := time.Duration(at - v.at)
	if passed < shortest && v.at != 0 {
		return v
	}
	next := visit{x.Messages, x.Bytes, at, -1, -1}
	if v.at != 0 && passed <= longest {
		next.messageRate = float64(x.Messages-v.messages) / passed.Seconds()
		next.byteRate = float64(x.Bytes-v.bytes) / passed.Seconds()
	}
	*v = next
	return v
}

// tag returns the state of a tag that was visited.
func (w *Watch) tag(now time.Time, x fanout.Figures) state.Tag {
	tag := state.Tag{Tag: x.Tag, Messages: x.Messages, PayloadBytes: x.Bytes, Last: coarseclock.Time(x.Last), Peers: x.Lanes}
	if v := w.visits[x.Number]; v.messageRate >= 0 && time.Duration(w.since(now)-v.at) <= longest {
		tag.MessageRate, tag.ByteRate = &v.messageRate, &v.byteRate // of the copy
	}
	return tag
}
