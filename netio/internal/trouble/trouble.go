// SPDX-License-Identifier: Apache-2.0

// Package trouble decides when a backend logs what fails again and again.
package trouble

import "time"

// The pause between two lines of the log about the same trouble.
const (
	leastPause = time.Second
	mostPause  = time.Minute
)

// Trouble is something that fails again and again, as often as a peer likes. It is logged at once, then with a pause that doubles from a second to a minute,
// and when it is over. What begins again soon after its end goes on with the old pause.
//
// The zero value has no trouble. One goroutine at a time uses it.
type Trouble struct {
	Clock func() time.Time // for tests; nil: time.Now

	lasts  bool
	told   bool   // a failure was logged, so the end is to be logged too
	failed uint64 // since the last line of an end
	since  time.Time
	next   time.Time // before that there is no line
	pause  time.Duration
}

func (t *Trouble) now() time.Time {
	if t.Clock != nil {
		return t.Clock()
	}
	return time.Now()
}

// Fail counts a failure. tell asks for a line; failed is how many there are by now.
func (t *Trouble) Fail() (failed uint64, tell bool) {
	now := t.now()
	if t.failed == 0 {
		t.since = now
	}
	t.failed++
	if quiet := now.Sub(t.next); !t.lasts && quiet >= t.pause {
		t.pause = 0
	}
	t.lasts = true
	if now.Before(t.next) {
		return t.failed, false
	}
	t.told = true
	t.pause = min(max(2*t.pause, leastPause), mostPause)
	t.next = now.Add(t.pause)
	return t.failed, true
}

// Lasts reports whether it failed last.
func (t *Trouble) Lasts() bool { return t.lasts }

// End notes that it works again. tell asks for a line, which counts the failures and
// says how long the trouble has lasted.
func (t *Trouble) End() (failed uint64, lasted time.Duration, tell bool) {
	if !t.lasts {
		return 0, 0, false
	}
	t.lasts = false
	if !t.told {
		return 0, 0, false // the failures are counted in the next line
	}
	failed, lasted = t.failed, t.now().Sub(t.since)
	t.told, t.failed = false, 0
	return failed, lasted, true
}
