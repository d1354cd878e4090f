// SPDX-License-Identifier: Apache-2.0

package in

import (
	"errors"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/follow"
	"tagbus/internal/sanitize"
)

// TooManyError means that a log has more publishers and tags than Config.MaxChains, or longer names of them than 64 MiB.
type TooManyError = follow.TooManyError

// ErrNotTaken means that the end of its context ends a run, and subscribers have not taken in time what was published: they lose it.
var ErrNotTaken = errors.New("bridge/in: ended before subscribers had taken all that was published: the rest is lost for them, so look for what slows them down, or keep a position")

// mostText is the most bytes of an error: what it names was written by others.
const mostText = 4096

// ReadError means that an entry of the log is no record that can be read, or one of another publisher or tag than the log says.
type ReadError struct {
	Log      string
	Position durable.Position
	Err      error // a *record.FormatError for what is no record
}

// Error names the entry and the cause.
func (e *ReadError) Error() string {
	return sanitize.Cut(sanitize.Linef("bridge/in: %s: entry %d: %v", e.Log, e.Position, e.Err), mostText)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// CircleError means that a bridge writes what this one publishes into the same log: each message would be
// published and written again without an end.
type CircleError struct {
	Log      string
	Position durable.Position // of a record of what this run has published
}

// Error names the log and the record, and says what to do.
func (e *CircleError) Error() string {
	return sanitize.Cut(sanitize.Linef("bridge/in: %s: entry %d is of what this bridge has published: the log is written from the bus on which it is published, and messages would go round without an end: publish on another bus, or write other tags", e.Log, e.Position), mostText)
}
