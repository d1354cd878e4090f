// SPDX-License-Identifier: Apache-2.0

// Package session is what the commands that receive messages have in common: which
// publishers there are, and why a run ends. It is also what those that publish have in common:
// which subscribers they wait for, before and at their end.
package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"tagbus/bus"
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

// EndBy makes the end of ctx, which is a signal, and a duration end the run, until release is called.
//
//   - d: 0: without limit.
func (e *Ending) EndBy(ctx context.Context, d time.Duration) (release func()) {
	stopSignal := context.AfterFunc(ctx, func() { e.End("signal", nil) })
	stopTimer := func() bool { return true }
	if d > 0 {
		stopTimer = time.AfterFunc(d, func() { e.End("duration", nil) }).Stop
	}
	return func() {
		stopSignal()
		stopTimer()
	}
}

// EndByRefusal ends the run if a publisher refuses the subscription.
//
//   - wait: its method Wait.
//   - Blocks: until a publisher has answered or ctx ends.
func (e *Ending) EndByRefusal(ctx context.Context, wait func(context.Context) error) {
	if err := wait(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, bus.ErrClosed) {
		e.End("error", err)
	}
}

// Every calls f each interval until the run ends.
func (e *Ending) Every(interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f()
		case <-e.done:
			return
		}
	}
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
