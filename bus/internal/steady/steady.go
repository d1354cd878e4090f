// SPDX-License-Identifier: Apache-2.0

// Package steady tells the time as a clock that is never set: what the one on the wall showed when
// the process began, and what has passed since. Two of its times are as far apart as what happened
// at them, whatever becomes of the clock of the host meanwhile. Those that others are told are shown
// by that clock as it goes now (Ahead).
//
// Threads: any.
package steady

import (
	"sync/atomic"
	"time"
)

// began is read as both clocks showed it.
var began = time.Now()

// ahead is what Ahead has found last, in nanoseconds.
var ahead atomic.Int64

// tolerance is by how much a clock may seem to have been set that was not: a process that is held up
// between reading one clock and the other reads them at different times.
const tolerance = 500 * time.Millisecond

// Time returns a time by the steady clock, in UTC. One that was not read from the clock of the
// system, which has no monotonic reading, is returned as it is, and so is the zero time.
func Time(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return began.Round(0).Add(t.Sub(began)).UTC()
}

// Ahead returns by how much the clock on the wall is ahead of the steady one: by how much it was set
// since the process began, to half a second. It is the same again as long as it is not set.
//
//   - now: as time.Now returns it.
func Ahead(now time.Time) time.Duration {
	measured := now.Round(0).Sub(Time(now))
	if known := time.Duration(ahead.Load()); (measured - known).Abs() <= tolerance {
		return known
	}
	ahead.Store(int64(measured))
	return measured
}
