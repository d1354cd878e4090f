// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/internal/goroutine"
)

// Watch implements Directory.
func (p *patient) Watch(notify func(Event)) (stop func(), err error) {
	w := &patientWatch{dir: p.inner, notify: notify, stopped: make(chan struct{})}
	var failed error
	silent := newTurnstile().pass(func() { failed = w.begin() }, nothing, func() { w.later(failed) })
	if silent != nil {
		w.take(Event{Kind: Problem, Err: silent})
		return w.stop, nil
	}
	if failed != nil {
		return nil, failed
	}
	return w.stop, nil
}

// patientWatch is a watch that may begin late.
type patientWatch struct {
	dir     Directory
	telling sync.Mutex // held while notify runs: two goroutines may have something to tell
	notify  func(Event)
	caller  atomic.Uint64 // goroutine that runs notify; 0: none
	stopped chan struct{} // closed when notify does not run any more, after stop

	mu    sync.Mutex
	ended bool
	inner func()      // ends the watch of the inner directory; nil before it has begun
	told  string      // why it has not
	retry *time.Timer // of begin; nil: it has not failed
}

// take passes an event on.
func (w *patientWatch) take(e Event) {
	w.telling.Lock()
	defer w.telling.Unlock()
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	if ended {
		return
	}
	w.caller.Store(goroutine.ID())
	w.notify(e)
	w.caller.Store(0)
}

// begin begins the watch of the inner directory, and ends it if it came too late.
//
// Errors: those of the inner directory.
func (w *patientWatch) begin() error {
	stop, err := w.dir.Watch(w.take)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.inner = stop
	ended := w.ended
	w.mu.Unlock()
	if ended {
		stop()
	}
	return nil
}

// later tells that the watch has not begun, and begins it after a while.
func (w *patientWatch) later(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	isNew := w.told != err.Error()
	w.told = err.Error()
	if !w.ended && !errors.Is(err, ErrClosed) {
		w.retry = time.AfterFunc(retryLate, func() { w.later(w.begin()) })
	}
	w.mu.Unlock()
	if isNew {
		w.take(Event{Kind: Problem, Err: err})
	}
}

// stop is what Watch returns. It waits for notify, and for the inner directory, for Patience
// at most; and not at all from within notify.
func (w *patientWatch) stop() {
	w.mu.Lock()
	first, inner := !w.ended, w.inner
	w.ended = true
	if w.retry != nil {
		w.retry.Stop()
	}
	w.mu.Unlock()
	if first {
		go w.finish(inner)
	}
	if id := w.caller.Load(); id != 0 && id == goroutine.ID() {
		return
	}
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-w.stopped:
	case <-timer.C:
	}
}

// finish ends the watch of the inner directory, if there is one, as long as that takes.
func (w *patientWatch) finish(inner func()) {
	if inner != nil {
		inner()
	}
	w.telling.Lock()
	w.telling.Unlock() //nolint:staticcheck // notify has run
	close(w.stopped)
}
