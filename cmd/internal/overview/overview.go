// SPDX-License-Identifier: Apache-2.0

// Package overview looks at a whole bus: what the directory lists, and what each entry says
// of itself. The commands of tagbus and the page show it.
package overview

import (
	"context"
	"sync"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
)

// Asker asks an entry for its state, as observer.Observer does.
type Asker interface {
	Ask(ctx context.Context, e directory.Entry, q state.Question) (state.State, error)
}

// Watcher looks at a bus again and again.
//
// Threads: one.
type Watcher struct {
	dir    directory.Directory
	asker  Asker
	before map[string]*state.State // by instance: the answers of the last look
}

// New returns a Watcher that has not looked yet.
func New(dir directory.Directory, asker Asker) *Watcher {
	return &Watcher{dir: dir, asker: asker}
}

// Overview is a bus at one time.
type Overview struct {
	Time    time.Time
	Rows    []Row // in the order of the entries
	Problem error // of the directory; the rows are valid all the same
}

// Row is an entry of the directory and what it says of itself.
type Row struct {
	Entry  directory.Entry
	State  *state.State // nil: it did not answer
	Before *state.State // its answer of the look before, for rates; nil: there is none
	Err    error        // why it did not answer
}

// Rate returns by how much a counter has grown in a second, between two looks. ok is false
// without an earlier look.
func (r *Row) Rate(counter func(*state.State) uint64) (perSecond float64, ok bool) {
	if r.State == nil || r.Before == nil {
		return 0, false
	}
	seconds := r.State.Time.Sub(r.Before.Time).Seconds()
	now, before := counter(r.State), counter(r.Before)
	if seconds <= 0 || now < before {
		return 0, false
	}
	return float64(now-before) / seconds, true
}

// atOnce is how many entries are asked at a time.
const atOnce = 64

// Look lists the entries and asks those that keep keeps, each for at most patience. The
// order of what is asked does not matter.
//
//   - keep: nil keeps all.
func (w *Watcher) Look(ctx context.Context, keep func(*directory.Entry) bool, q state.Question, patience time.Duration) Overview {
	entries, err := w.dir.List()
	o := Overview{Time: time.Now(), Problem: err}
	for _, e := range entries {
		if keep == nil || keep(&e) {
			o.Rows = append(o.Rows, Row{Entry: e, Before: w.before[e.Instance]})
		}
	}
	var wg sync.WaitGroup
	tokens := make(chan struct{}, atOnce)
	for i := range o.Rows {
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			w.ask(ctx, &o.Rows[i], q, patience)
		})
	}
	wg.Wait()
	w.before = make(map[string]*state.State, len(o.Rows))
	for i := range o.Rows {
		if s := o.Rows[i].State; s != nil {
			w.before[s.Instance] = s
		}
	}
	return o
}

func (w *Watcher) ask(ctx context.Context, r *Row, q state.Question, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := w.asker.Ask(ctx, r.Entry, q)
	if err != nil {
		r.Err = err
		return
	}
	r.State = &s
}
