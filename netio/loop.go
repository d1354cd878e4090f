// SPDX-License-Identifier: Apache-2.0

package netio

import "time"

// Loop is the event loop of a backend, as far as its user needs it: the place
// where the Handler is called, and a way to run there too. A test gives the
// bus a virtual one.
type Loop interface {
	// Post runs f on the loop, after what was posted before it, and never
	// inside the call. It returns false, and f will not run, once the loop has
	// ended; what was accepted before runs. Threads: any. Blocks: never.
	Post(f func()) bool

	// OnLoop reports whether the caller runs on the loop, and may use what belongs to
	// it. Takes about a microsecond.
	OnLoop() bool

	// OnAnyLoop reports whether the caller runs on this loop or another one of the
	// process, where it must not wait for this one, because this one may be waiting
	// for the other. Takes about a microsecond.
	OnAnyLoop() bool

	// NewTimer returns a stopped timer that calls f on the loop.
	NewTimer(f func()) (Timer, error)
}

// Timer calls a function on its loop, periodically or once.
//
// Threads: any goroutine may start and stop it. After Stop or Close returns on
// the loop the function is not called any more; elsewhere a call that has
// already begun may still finish.
type Timer interface {
	// Start calls the function every period, first one period from now. It
	// replaces an earlier start.
	Start(period time.Duration) error

	// StartOnce calls the function once, after d. It replaces an earlier
	// start.
	StartOnce(d time.Duration) error

	// Stop ends the calls until the next start.
	Stop()

	// Close stops the timer and releases it.
	Close() error
}
