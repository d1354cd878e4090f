// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
)

// ErrNoAnswer is wrapped in Row.Err where an instance has not answered in time: it is
// stopped or overloaded, or the network between loses what is sent.
var ErrNoAnswer = errors.New("no answer")

const (
	// atOnce is how many entries are asked at a time. So many may be out of reach at the
	// first look, and all others answer in time.
	atOnce = 256

	// againAtOnce is how many that have not answered are asked again at a time.
	againAtOnce = 16

	// firstPause and longestPause are between questions to one that does not answer. Each
	// is twice as long as the one before.
	firstPause   = time.Second
	longestPause = 10 * time.Second
)

// Watcher looks at a bus again and again.
//
// Instances that do not answer hold up one look only. They are asked again beside later
// looks, less and less often, and are shown as silent until they answer.
//
// Threads: one. Questions run on goroutines of their own, and end with their patience or with
// the context of their look. Those to the silent end with their patience alone: a look does not
// wait for them, so those of looks that are short would never be answered.
type Watcher struct {
	dir     directory.Directory
	asker   Asker
	before  map[string]*state.State // by instance: the answers of the last look
	open    map[string]*question    // by instance: under way, or answered between looks
	silent  map[string]*silence     // by instance: those that have not answered
	retries chan struct{}           // a place for each question to the silent
	gone    map[string]Dead         // by instance: those that were silent, and are not listed any more

	left   func() Leftovers // what the dead have left in the directory; nil: nothing is known of that
	looked time.Time        // at that, last
	graves chan Leftovers   // of a look that goes on; nil: none does
	found  Leftovers        // by the last one
}

// Leftovers is what is in a directory besides the entries that it lists.
type Leftovers struct {
	Dead []Dead // and perhaps some that are listed
	Full bool   // there is more than is looked at
}

// leftoversPause is between two looks at what the dead have left: each reads all files.
const leftoversPause = 10 * time.Second

// maxGoners is how many are remembered that were silent and are not listed any more.
const maxGoners = 256

// SeeLeftovers has later looks show what left returns. It runs on a goroutine of its own, every
// ten seconds at most; a directory that does not answer holds up one look.
func (w *Watcher) SeeLeftovers(left func() Leftovers) { w.left = left }

// dead returns the programs that have gone without a word.
func (w *Watcher) dead(ctx context.Context, listed map[string]bool, patience time.Duration, now time.Time) (dead []Dead, full bool) {
	if w.left != nil && w.graves == nil && (w.looked.IsZero() || now.Sub(w.looked) >= leftoversPause) {
		graves := make(chan Leftovers, 1)
		w.graves = graves
		go func() { graves <- w.left() }()
	}
	if w.graves != nil {
		if !w.looked.IsZero() {
			patience = 0
		}
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case w.found = <-w.graves:
			w.graves = nil
		case <-timer.C:
		case <-ctx.Done():
		}
		if w.looked.IsZero() || w.graves == nil {
			w.looked = now
		}
	}
	known := make(map[string]bool)
	for _, d := range w.found.Dead {
		if !listed[d.Entry.Instance] {
			known[d.Entry.Instance] = true
			dead = append(dead, d)
		}
	}
	for instance, d := range w.gone {
		switch {
		case listed[instance] || now.Sub(d.Since) > lately:
			delete(w.gone, instance)
		case !known[instance]:
			dead = append(dead, d)
		}
	}
	slices.SortFunc(dead, func(a, b Dead) int { return cmp.Compare(a.Entry.Instance, b.Entry.Instance) })
	return dead, w.found.Full
}

// New returns a Watcher that has not looked yet.
func New(dir directory.Directory, asker Asker) *Watcher {
	return &Watcher{
		dir: dir, asker: asker,
		gone: make(map[string]Dead),
		open: make(map[string]*question), silent: make(map[string]*silence),
		retries: make(chan struct{}, againAtOnce),
	}
}

// Look lists the entries and asks those that keep keeps, each for at most patience. The
// order of what is asked does not matter.
//
//   - keep: nil keeps all.
//   - Blocks: until those that answered before have answered, for at most patience, or until
//     ctx ends. What is not answered then is in Row.Err, and an answer that comes after it
//     is in the next look.
func (w *Watcher) Look(ctx context.Context, keep func(*directory.Entry) bool, q state.Question, patience time.Duration) Overview {
	entries, err := w.dir.List()
	o := Overview{Time: time.Now(), Problem: err}
	listed := make(map[string]bool, len(entries))
	for _, e := range entries {
		listed[e.Instance] = true
		if keep == nil || keep(&e) {
			o.Rows = append(o.Rows, Row{Entry: e, Before: w.before[e.Instance]})
		}
	}
	w.forget(listed)
	o.Dead, o.Full = w.dead(ctx, listed, patience, o.Time)
	w.begin(ctx, o.Rows, q, patience, o.Time)
	w.await(ctx, o.Rows, patience)
	w.before = make(map[string]*state.State, len(o.Rows))
	for i := range o.Rows {
		w.end(ctx, &o.Rows[i], patience, o.Time)
		if s := o.Rows[i].State; s != nil {
			w.before[o.Rows[i].Entry.Instance] = s
		}
	}
	return o
}

// forget drops what is known of instances that are not listed any more.
func (w *Watcher) forget(listed map[string]bool) {
	for instance, s := range w.silent {
		if !listed[instance] {
			delete(w.silent, instance)
			if len(w.gone) < maxGoners && s.lasts(w.open[instance]) {
				w.gone[instance] = Dead{Entry: s.entry, Since: s.since, Why: "it did not answer, and then its entry expired"}
			}
		}
	}
	for instance := range w.open {
		if !listed[instance] {
			delete(w.open, instance)
		}
	}
}

// begin asks the instances that are not being asked, and are not silent or due again.
func (w *Watcher) begin(ctx context.Context, rows []Row, q state.Question, patience time.Duration, now time.Time) {
	queue := make(chan *question, len(rows))
	for i := range rows {
		instance := rows[i].Entry.Instance
		silent := w.silent[instance]
		before := w.open[instance]
		if before.answered() && now.Sub(before.at) > patience { // it answers again, and has more to say by now
			delete(w.open, instance)
			delete(w.silent, instance)
			silent, before = nil, nil
		}
		underWay := before != nil && (!before.over() || !before.broken)
		if underWay || silent != nil && now.Before(silent.next) {
			continue
		}
		asked := &question{entry: rows[i].Entry, done: make(chan struct{})}
		w.open[instance] = asked
		if silent == nil {
			queue <- asked
			continue
		}
		go func() {
			w.retries <- struct{}{} // which is soon free: questions end with their patience
			w.answer(context.WithoutCancel(ctx), asked, q, patience)
			<-w.retries
		}()
	}
	close(queue)
	// Each goroutine asks one after the other: a goroutine for each question would spend more
	// on its stack than on the question.
	for range min(len(queue), atOnce) {
		go func() {
			for asked := range queue {
				w.answer(ctx, asked, q, patience)
			}
		}()
	}
}

// await waits for the answers of those that are not silent.
func (w *Watcher) await(ctx context.Context, rows []Row, patience time.Duration) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for i := range rows {
		asked := w.open[rows[i].Entry.Instance]
		if asked == nil || w.silent[rows[i].Entry.Instance] != nil {
			continue
		}
		select {
		case <-asked.done:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// end puts into a row what is known now.
func (w *Watcher) end(ctx context.Context, r *Row, patience time.Duration, now time.Time) {
	instance := r.Entry.Instance
	s, failed := w.silent[instance], false
	if asked := w.open[instance]; asked != nil {
		switch {
		case asked.over():
			delete(w.open, instance)
			r.State, r.Err, failed = asked.answer, asked.err, asked.failed()
		case s != nil:
			r.Err = s.err
		default:
			r.Err = noAnswer(patience)
		}
	} else if s != nil {
		r.Err = s.err
	}
	switch {
	case r.State != nil:
		delete(w.silent, instance)
		return
	case ctx.Err() != nil: // that was not its fault
		if s != nil {
			r.SilentSince = s.since
		}
		return
	case s == nil:
		s = &silence{entry: r.Entry, since: now, next: now.Add(firstPause), pause: firstPause}
		w.silent[instance] = s
	case w.open[instance] == nil && !now.Before(s.next): // it was asked again
		s.pause = min(2*s.pause, longestPause)
		s.next = now.Add(s.pause)
	}
	if failed {
		s.failed++
	}
	s.err = r.Err
	r.SilentSince = s.since
}
