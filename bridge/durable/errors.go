// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"errors"

	"tagbus/internal/sanitize"
)

// Sentinels, found with errors.Is.
var (
	// ErrConflict is the result of an Append whose After is not the last record of the key. Another
	// bridge has appended, or this one has without learning of it: see Log.Last.
	ErrConflict = errors.New("bridge/durable: the key has a later record")

	// ErrRefused is wrapped by what an engine will refuse again: a stream that does not exist,
	// credentials that are wrong, a record that is too large. The text names it and says what to
	// do.
	ErrRefused = errors.New("refused")

	// ErrClosed is the result of what a Log is asked after Close, or was doing then.
	ErrClosed = errors.New("bridge/durable: log is closed")
)

// GapError is the error of Log.Read for a start before the first record that the log still has.
type GapError struct {
	Log   string   // its name
	Want  Position // the first record that was asked for
	First Position // the first one that there is
}

// Error names both positions and says what to do.
func (e *GapError) Error() string {
	return sanitize.Linef("bridge/durable: %s begins at %d, and record %d was asked for: its retention has dropped what is before, so start at %[2]d, or keep more in the log", e.Log, e.First, e.Want)
}
