package bus

import (
	"time"

	"tagbus/bus/directory"
	"tagbus/internal/plain"
	"tagbus/netio"
)

// EntryError is the cause of a Problem event of a publisher or a receiver: its entry in
// the directory cannot be renewed or changed. Connections stay, but no program finds an
// expired entry. The event comes once, and once more when the problem is over. In
// between the directory tries again by itself.
type EntryError struct {
	Err    error         // why it cannot be renewed, or could not at first
	Over   bool          // it is renewed again
	Lasted time.Duration // if Over: for how long it was not
}

// Error says why, or how long it lasted.
func (e *EntryError) Error() string {
	if e.Over {
		return plain.Linef("bus: the entry in the directory is renewed again, after %v without: %v", e.Lasted.Round(time.Millisecond), e.Err)
	}
	return plain.Linef("bus: the entry in the directory cannot be renewed, so that others find an old one, or none when it has expired: %v", e.Err)
}

// Unwrap returns the cause.
func (e *EntryError) Unwrap() error { return e.Err }

// reportEntry turns the problems of a directory entry into events, if the directory
// reports them. The directory does so in a goroutine of its own; event runs on the
// loop.
func reportEntry(r directory.Registration, loop netio.Loop, event func(Event)) {
	reporter, ok := r.(directory.Reporter)
	if !ok {
		return
	}
	var began time.Time
	var cause error
	reporter.OnProblem(func(err error) { // one call at a time
		e := &EntryError{Err: err}
		if err != nil {
			began, cause = time.Now(), err
		} else {
			e.Err, e.Over, e.Lasted = cause, true, time.Since(began)
		}
		loop.Post(func() { event(Event{Kind: Problem, Err: e}) })
	})
}
