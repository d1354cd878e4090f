// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/tagset"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// EntryLimitError says that a set of tags has more ranges or masks than a directory
// entry may have. The limits are those of a subscription: a reader of the entry works
// with the set as a publisher does with a subscription. It is an ErrEntryTooLarge.
type EntryLimitError struct {
	Instance, Name string // of the entry; empty for one's own
	Ranges, Masks  int    // that it has
}

// Error names the entry, the numbers and their limits.
func (e *EntryLimitError) Error() string {
	of := ""
	if e.Instance != "" {
		of = sanitize.Linef(" of %s (%s)", e.Name, e.Instance) // in full: it names the file of the entry
	}
	return fmt.Sprintf("%v%s: %d ranges and %d masks, limits %d together and %d masks: use ranges instead of single tags and masks",
		ErrEntryTooLarge, of, e.Ranges, e.Masks, subscription.MaxParts, subscription.MaxMasks)
}

// Unwrap returns ErrEntryTooLarge.
func (*EntryLimitError) Unwrap() error { return ErrEntryTooLarge }

// checkEntry refuses a set that is too large for a directory entry.
//
// Errors: *EntryLimitError.
func checkEntry(set tags.Set) error {
	if limit := beyond(set); limit != nil {
		return limit
	}
	return nil
}

// beyond returns an error if a set is too large, or nil.
func beyond(set tags.Set) *EntryLimitError {
	if tagset.Fits(set) {
		return nil
	}
	masks := tagset.Masks(set)
	return &EntryLimitError{Ranges: set.Parts() - masks, Masks: masks}
}

// entryLimit returns why an entry of the directory is too large, or nil.
//
// Errors: *EntryLimitError.
func entryLimit(e directory.Entry) error {
	limit := beyond(e.Tags)
	if limit == nil {
		return nil
	}
	limit.Instance, limit.Name = e.Instance, e.Name
	return limit
}

// withdrawal takes an entry out of the directory, beside all else that ends: the storage
// may take its time, and peers must not wait for it.
//
// Threads: any.
type withdrawal struct {
	mu      sync.Mutex
	running chan struct{} // closed when it has ended; nil: not begun
	err     error         // that was not returned yet
}

// begin begins it, once.
//
//   - r: nil: there is no entry.
func (w *withdrawal) begin(r directory.Registration, trouble *entryTrouble) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != nil || r == nil {
		return
	}
	running := make(chan struct{})
	w.running = running
	go func() {
		err := r.Withdraw()
		trouble.set(nil) // nothing is reported after Withdraw
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
		close(running)
	}()
}

// wait returns when the entry is out of the directory, or cannot be withdrawn.
//
// Errors: the directory's, once; the cause of the end of ctx.
func (w *withdrawal) wait(ctx context.Context) error {
	w.mu.Lock()
	running := w.running
	w.mu.Unlock()
	if running == nil {
		return nil
	}
	select {
	case <-running:
	default:
		select {
		case <-running:
		case <-ctx.Done():
			return fmt.Errorf("bus: drain: the entry is still in the directory: %w", context.Cause(ctx))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.err
	w.err = nil
	return err
}

// entryTrouble is what is wrong with an entry now.
//
// Threads: any.
type entryTrouble struct {
	failing atomic.Bool // it cannot be renewed
	crowded atomic.Bool // it is renewed, among too many
}

func (t *entryTrouble) set(err error) {
	crowded := errors.Is(err, directory.ErrCrowded)
	t.failing.Store(err != nil && !crowded)
	t.crowded.Store(crowded)
}

// reportEntry turns the problems of a directory entry into events, if the directory
// reports them, and notes in trouble which one there is. The directory does so in a
// goroutine of its own; event runs on the loop.
func reportEntry(r directory.Registration, loop netio.Loop, trouble *entryTrouble, event func(Event)) {
	reporter, ok := r.(directory.Reporter)
	if !ok {
		return
	}
	var began time.Time
	var cause error
	var asking atomic.Bool // a problem that is there already: the entry was not announced
	unannounced := false
	asking.Store(true)
	reporter.OnProblem(func(err error) { // one call at a time
		trouble.set(err)
		e := &EntryError{Err: err}
		if err != nil {
			began, cause, unannounced = time.Now(), err, asking.Load() && !errors.Is(err, directory.ErrCrowded)
		} else {
			e.Err, e.Over, e.Lasted = cause, true, time.Since(began)
		}
		e.Unannounced = unannounced
		loop.Post(func() { event(Event{Kind: Problem, Err: e}) })
	})
	asking.Store(false)
}
