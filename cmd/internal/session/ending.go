// SPDX-License-Identifier: Apache-2.0

// Package session is what the commands that receive messages have in common: which
// publishers there are, and why a run ends.
package session

import (
	"sync"
	"time"
)

// Ending is why a run ends: the first reason counts.
//
// Threads: any. Reason, Err and Time may be called once Done is closed, or on the thread of End.
type Ending struct {
	once   sync.Once
	done   chan struct{}
	reason string
	err    error
	time   time.Time
}

// NewEnding returns the ending of a run that goes on.
func NewEnding() *Ending { return &Ending{done: make(chan struct{})} }

// End ends the run. Later calls do nothing. Blocks: never.
//
//   - err: nil if it is an orderly end.
func (e *Ending) End(reason string, err error) {
	e.once.Do(func() {
		e.reason, e.err, e.time = reason, err, time.Now()
		close(e.done)
	})
}

// Done returns what is closed when there is a reason.
func (e *Ending) Done() <-chan struct{} { return e.done }

// Ended reports whether there is a reason.
func (e *Ending) Ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// Reason returns the reason; "" if there is none.
func (e *Ending) Reason() string { return e.reason }

// Time returns when the run has ended.
func (e *Ending) Time() time.Time { return e.time }

// Err returns what failed; nil if it is an orderly end.
func (e *Ending) Err() error { return e.err }
