// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
)

// Feed keeps what a Directory knows and tells its watchers what changes. It is
// for implementations of Directory: they call Put, Remove and Report as they
// learn things, and pass Watch and List on.
//
// The zero value is empty and ready. A Feed must not be copied. It uses no
// clock, and a goroutine per watcher that is being told something.
//
// Threads: any, from within notify functions too. No method but the stop
// function and Close blocks.
type Feed struct {
	mu       sync.Mutex
	closed   bool
	entries  map[string]Entry // by instance
	problems map[string]error // by source
	watchers map[*watcher]struct{}
}

// Put adds e, or replaces the entry of e.Instance. Watchers are told Appeared
// or Changed, or nothing if the entry is the same. The caller must have
// validated e and does not change e.Addresses afterwards.
func (f *Feed) Put(e Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	kind := Appeared
	if old, ok := f.entries[e.Instance]; ok {
		if old.Equal(e) {
			return
		}
		kind = Changed
	}
	if f.entries == nil {
		f.entries = make(map[string]Entry)
	}
	f.entries[e.Instance] = e
	f.tell(e.Instance, Event{Kind: kind, Entry: e})
}

// Remove takes the entry of instance away and tells watchers Gone, with why as
// Err: nil if its publisher withdrew it. Without such an entry it does nothing.
func (f *Feed) Remove(instance string, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.entries[instance]
	if !ok {
		return
	}
	delete(f.entries, instance)
	f.tell(instance, Event{Kind: Gone, Entry: e, Err: why})
}

// Report sets the problem of source, and tells watchers if it differs from the
// problem that source had, by its text. A nil err ends the problem in silence.
//
//   - source: what the problem is about: an instance, whose entry, if there is
//     one, comes with the event, or any other name.
func (f *Feed) Report(source string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	if err == nil {
		delete(f.problems, source)
		return
	}
	if old, ok := f.problems[source]; ok && old.Error() == err.Error() {
		return
	}
	if f.problems == nil {
		f.problems = make(map[string]error)
	}
	f.problems[source] = err
	f.tell(source, Event{Kind: Problem, Entry: f.entries[source], Err: err})
}

// List returns the entries in the order of their instances, and the problems
// joined in the order of their sources; ErrClosed after Close.
func (f *Feed) List() ([]Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	entries := slices.SortedFunc(maps.Values(f.entries), func(a, b Entry) int { return cmp.Compare(a.Instance, b.Instance) })
	for i := range entries {
		entries[i] = entries[i].Clone()
	}
	var errs []error
	for _, source := range slices.Sorted(maps.Keys(f.problems)) {
		errs = append(errs, f.problems[source])
	}
	return entries, errors.Join(errs...)
}

// Sizes returns how many entries and problems there are.
func (f *Feed) Sizes() (entries, problems int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.entries), len(f.problems)
}

// Watch does what Directory.Watch promises.
func (f *Feed) Watch(notify func(Event)) (stop func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	w := newWatcher(notify)
	for _, instance := range slices.Sorted(maps.Keys(f.entries)) {
		w.push(instance, Event{Kind: Appeared, Entry: f.entries[instance]})
	}
	for _, source := range slices.Sorted(maps.Keys(f.problems)) {
		w.push(source, Event{Kind: Problem, Entry: f.entries[source], Err: f.problems[source]})
	}
	if f.watchers == nil {
		f.watchers = make(map[*watcher]struct{})
	}
	f.watchers[w] = struct{}{}
	return func() {
		f.mu.Lock()
		delete(f.watchers, w)
		f.mu.Unlock()
		w.stop()
	}, nil
}

// End forgets everything, and no notify function is called again; those that run end by
// themselves. It is Close without the wait. Idempotent.
func (f *Feed) End() { f.end() }

// end is End, and returns all watchers.
func (f *Feed) end() map[*watcher]struct{} {
	f.mu.Lock()
	f.closed, f.entries, f.problems = true, nil, nil
	watchers := maps.Clone(f.watchers) // the Feed keeps its own, for a second Close to wait on
	f.mu.Unlock()
	for w := range watchers {
		w.end()
	}
	return watchers
}

// Close forgets everything and stops all watchers, which are not told Gone. It
// returns when no notify function runs. Called from within a notify function it
// returns at once, and no notify function is called again; those that run end
// by themselves. Idempotent.
func (f *Feed) Close() {
	watchers := f.end()
	inside := false
	for w := range watchers {
		inside = inside || w.isCaller()
	}
	for w := range watchers {
		if !inside { // two notify functions that close would wait for each other
			w.wait()
		}
	}
}

// tell queues event at all watchers. The lock is held, so that all watchers see
// one order.
func (f *Feed) tell(source string, event Event) {
	for w := range f.watchers {
		w.push(source, event)
	}
}
