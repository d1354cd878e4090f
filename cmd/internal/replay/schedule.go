// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"context"
	"math"
	"syscall"
	"time"

	"tagbus/cmd/internal/latency"
)

// setBack is how far the time of a message may be before that of an earlier one. A larger
// step is a clock that was set back, and the time goes on from there.
const setBack = time.Second

// schedule says when each message is due. Times are nanoseconds since 1970.
type schedule struct {
	speed  float64
	maxGap time.Duration // 0: none

	begun bool
	last  int64   // the latest time so far
	due   float64 // of the message that had it, in ns since the start of the replay
}

// again begins a further pass: its first message is due with the last one of the pass before.
func (s *schedule) again() { s.begun = false }

// next returns when a message is due, since the start of the replay. That is never before
// the messages in front of it.
func (s *schedule) next(ns int64) time.Duration {
	switch {
	case !s.begun:
		s.begun, s.last = true, ns
	case ns > s.last:
		gap := float64(uint64(ns)-uint64(s.last)) / s.speed // as a difference it may not fit an int64
		if s.maxGap > 0 {
			gap = min(gap, float64(s.maxGap))
		}
		s.due = min(s.due+gap, math.MaxInt64/2)
		s.last = ns
	case uint64(s.last)-uint64(ns) > uint64(setBack):
		s.last = ns
	}
	return time.Duration(s.due)
}

const (
	// timerError is how much later than asked a timer of Go may fire: see
	// golang.org/issue/44343.
	timerError = 2 * time.Millisecond

	// leastNap is how long a nap is at least: messages that are due within it are sent
	// together, up to so much late. A nap of the system is some 60 µs longer than asked.
	leastNap = 200 * time.Microsecond

	// longPause is a pause that is said.
	longPause = 10 * time.Second
)

// metronome waits until messages are due, and counts how late they are.
type metronome struct {
	start time.Time
	timer *time.Timer
	nap   func(time.Duration)      // exact, for less than timerError
	pause func(left time.Duration) // called before a long pause
	late  latency.Histogram
}

// newMetronome returns a metronome that starts now.
//
//   - nap: sleeps exactly.
//   - pause: is called before each long pause.
func newMetronome(nap, pause func(time.Duration)) *metronome {
	m := &metronome{start: time.Now(), nap: nap, pause: pause, timer: time.NewTimer(time.Hour)}
	m.timer.Stop()
	return m
}

// now returns the time since the start.
func (m *metronome) now() time.Duration { return time.Since(m.start) }

// wait returns once it is so late, or with the cause of the end of ctx.
//
//   - Allocates: no.
func (m *metronome) wait(ctx context.Context, due time.Duration) error {
	left := due - m.now()
	if left > longPause {
		m.pause(left)
	}
	for ; left > 0; left = due - m.now() {
		if left <= timerError {
			m.nap(max(left, leastNap))
			continue
		}
		m.timer.Reset(left - timerError)
		select {
		case <-m.timer.C:
		case <-ctx.Done():
			m.timer.Stop()
			return context.Cause(ctx)
		}
	}
	return nil
}

// sent counts how late messages are that were sent just now.
func (m *metronome) sent(due []time.Duration) {
	now := m.now()
	for _, d := range due {
		m.late.Record(now - d)
	}
}

// nap sleeps for less than timerError, in the system: timers of Go are not so exact. It
// may end early.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // a signal ends it
}
