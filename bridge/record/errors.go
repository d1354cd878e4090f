// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"

	"tagbus/internal/sanitize"
)

// Sentinels, found with errors.Is in a *FormatError.
var (
	// ErrNotRecord means that the bytes do not begin like a record of a bridge: another
	// program has written them. Give the bridge a subject or topic of its own.
	ErrNotRecord = errors.New("not a record of a bridge: another program writes to this subject or topic, so give the bridge one of its own")

	// ErrVersion means that a newer version of tagbus has written the record.
	ErrVersion = errors.New("written by a newer version of tagbus: read it with that one")

	// ErrChecksum means that the bytes are not those that were written.
	ErrChecksum = errors.New("checksum is wrong: the bytes are not those that were written")

	// ErrMalformed means that the checksum is right and the content contradicts the format.
	ErrMalformed = errors.New("content contradicts the format")
)

// FormatError says at which byte a record cannot be read, and why.
type FormatError struct {
	Offset int // in the record, in bytes
	Err    error
}

// Error names the place and the cause.
func (e *FormatError) Error() string {
	return sanitize.Linef("bridge/record: at byte %d: %v", e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }
