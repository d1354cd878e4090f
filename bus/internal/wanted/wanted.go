// SPDX-License-Identifier: Apache-2.0

// Package wanted has what a subscription wants: its tags, which of them have a handler of
// their own, and whether the last change is acknowledged.
//
// Any goroutine changes it. The loop takes all changes since the last time over at once, and
// settles what becomes of them.
package wanted

import (
	"errors"
	"slices"
	"sync"

	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// ErrEmpty says that Remove would leave no tag.
var ErrEmpty = errors.New("wanted: no tag would be left")

// Wishes are the tags that a subscription wants.
//
//   - H: a handler.
//
// Threads: any.
type Wishes[H any] struct {
	change func(first bool) error

	mu       sync.Mutex
	set      tags.Set   // what is wanted, together with added
	added    []tags.Set // not yet united with set
	parts    int        // of those
	changed  bool       // since Take
	outcome  *Outcome   // of the last change
	handlers map[tags.Tag]H
}

// New returns the wishes of a subscription that has just been made.
//
//   - change: called before each change, by which goroutine ever. It returns why nothing can
//     change any more, and otherwise has Take called on the loop if it is the first one since
//     the last Take.
func New[H any](set tags.Set, change func(first bool) error) Wishes[H] {
	return Wishes[H]{set: set, change: change, outcome: newOutcome()}
}

// Tags returns the set that is wanted.
func (w *Wishes[H]) Tags() tags.Set {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unite()
}

// unite returns the set that is wanted. mu is held.
func (w *Wishes[H]) unite() tags.Set {
	if len(w.added) > 0 {
		w.set = tags.Union(append(w.added, w.set)...)
		w.added, w.parts = nil, 0
	}
	return w.set
}

// Add adds tags.
//
// Errors: subscription.ErrTooManyTags, wrapped; that of change. Nothing has changed then.
func (w *Wishes[H]) Add(set tags.Set) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.set.Parts()+w.parts+set.Parts() > subscription.MaxParts { // united they may have fewer
		if parts := tags.Union(w.unite(), set).Parts(); parts > subscription.MaxParts {
			return tagset.TooMany(parts)
		}
	}
	if err := w.begin(); err != nil {
		return err
	}
	w.added, w.parts = append(w.added, set), w.parts+set.Parts()
	return nil
}

// Remove removes tags, and forgets their handlers.
//
// Errors: ErrEmpty; tags.ErrTooComplex; that of change. Nothing has changed then.
func (w *Wishes[H]) Remove(set tags.Set) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	left, err := w.unite().Without(set)
	switch {
	case err != nil:
		return err
	case left.IsEmpty():
		return ErrEmpty
	}
	if err = w.begin(); err != nil {
		return err
	}
	w.set = left
	for tag := range w.handlers {
		if !left.Contains(tag) {
			delete(w.handlers, tag)
		}
	}
	return nil
}

// begin begins a change. mu is held.
//
// Errors: that of change.
func (w *Wishes[H]) begin() error {
	if err := w.change(!w.changed); err != nil {
		return err
	}
	w.changed = true
	if w.outcome.settled {
		w.outcome = newOutcome()
	}
	return nil
}

// Take takes over what has changed since the last time. Loop only.
func (w *Wishes[H]) Take() (set tags.Set, changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.changed {
		return set, false
	}
	w.changed = false
	return w.unite(), true
}

// Handle gives a tag a handler of its own.
//
//   - none: it gets none any more, and h is not used.
//   - Result: whether the tag is wanted. If not, nothing has changed.
func (w *Wishes[H]) Handle(tag tags.Tag, h H, none bool) (known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.set.Contains(tag) && !slices.ContainsFunc(w.added, func(s tags.Set) bool { return s.Contains(tag) }) {
		return false
	}
	if none {
		delete(w.handlers, tag)
		return true
	}
	if w.handlers == nil {
		w.handlers = make(map[tags.Tag]H)
	}
	w.handlers[tag] = h
	return true
}

// Handler returns the handler of a tag; ok is false if it has none of its own.
func (w *Wishes[H]) Handler(tag tags.Tag) (h H, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, ok = w.handlers[tag]
	return h, ok
}

// Outcome is what becomes of a change.
type Outcome struct {
	done    chan struct{}
	settled bool  // guarded by Wishes.mu
	err     error // set before done is closed
}

func newOutcome() *Outcome { return &Outcome{done: make(chan struct{})} }

// Done returns a channel that is closed when the change is settled. Threads: any.
func (o *Outcome) Done() <-chan struct{} { return o.done }

// Err returns how, after Done: nil if the change is acknowledged. Threads: any.
func (o *Outcome) Err() error { return o.err }

// Outcome returns that of the last change. The next change has another one, unless this one
// is not settled by then: the last change decides.
func (w *Wishes[H]) Outcome() *Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcome
}

// Unsettled reports whether what is wanted was taken over, and is not settled. Loop only.
func (w *Wishes[H]) Unsettled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.changed && !w.outcome.settled
}

// Settle settles the last change. The first call after it counts. Loop only.
//
//   - err: why it is not acknowledged; nil: it is.
func (w *Wishes[H]) Settle(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.outcome; !o.settled {
		o.settled, o.err = true, err
		close(o.done)
	}
}
