// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"sync"
)

// Reporter is what a Registration also is if its entry, once announced, may fail to
// stay so: the storage is full or gone, permissions have changed.
type Reporter interface {
	// OnProblem sets what is told when the entry cannot be kept alive, or not be
	// updated: err says why and what to do. It is told once when that begins, with
	// the first cause, and once with nil when it is over; the directory tries by
	// itself. After Withdraw it is told nothing. So it is with an entry that is kept
	// alive among too many (ErrCrowded), which is another problem: the one is over
	// before the other begins.
	//
	//   - report: called from one goroutine at a time, and from within OnProblem if
	//     there is a problem already. It must not block, and must not call the
	//     directory.
	OnProblem(report func(err error))
}

// Reports is a Reporter for implementations of Directory: a Registration embeds it
// and calls Tell as it learns things. The zero value is ready; it must not be copied.
//
// Threads: any.
type Reports struct {
	mu     sync.Mutex
	report func(error)
	err    error // the first of the problem that persists
	over   bool  // nothing is told any more
}

// OnProblem does what Reporter.OnProblem promises.
func (r *Reports) OnProblem(report func(err error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report = report; r.err != nil && !r.over {
		report(r.err)
	}
}

// Tell sets what keeps the entry from being kept alive; nil: nothing does.
func (r *Reports) Tell(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && r.err != nil && errors.Is(err, ErrCrowded) != errors.Is(r.err, ErrCrowded) {
		r.set(nil)
	}
	if (err == nil) != (r.err == nil) {
		r.set(err)
	}
}

// set sets the problem that persists, and tells it. The lock is held.
func (r *Reports) set(err error) {
	if r.err = err; r.report != nil && !r.over {
		r.report(err)
	}
}

// End makes what follows untold: the entry is withdrawn.
func (r *Reports) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}
