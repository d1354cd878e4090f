// SPDX-License-Identifier: Apache-2.0

// Package backoff spaces out what is said again while it lasts: each pause is longer.
package backoff

import "time"

// The pauses between two reminders double, from the first to the longest one.
const (
	First   = 10 * time.Second
	Longest = 10 * time.Minute
)

// Reminder is about something that lasts, such as a peer that cannot be reached. The zero
// value is ready, and begins with the first call of Due. Assign the zero value when it is
// over.
//
// Threads: one at a time.
type Reminder struct {
	begun, last time.Time
	pause       time.Duration
}

// Due reports whether to say it at a time: at the first call, and then after each pause.
func (r *Reminder) Due(now time.Time) bool {
	switch {
	case r.begun.IsZero():
		r.begun, r.pause = now, First
	case now.Sub(r.last) < r.pause:
		return false
	default:
		r.pause = min(2*r.pause, Longest)
	}
	r.last = now
	return true
}

// Lasted returns how long it had lasted when Due was last true, in whole seconds.
func (r *Reminder) Lasted() time.Duration { return r.last.Sub(r.begun).Truncate(time.Second) }
