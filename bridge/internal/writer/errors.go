// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"tagbus/bridge/durable"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// mostText is the most bytes of an error: what it names was written by others.
const mostText = 4096

// ForeignError means that the log has something under a key that a bridge has not written, or that a
// newer one has.
type ForeignError struct {
	Log      string
	Key      durable.Key
	Position durable.Position
	Err      error
}

// Error names the place and the cause.
func (e *ForeignError) Error() string {
	return sanitize.Cut(sanitize.Linef("bridge: %s: entry %d, of tag %v and publisher %s: %v", e.Log, e.Position, e.Key.Tag, e.Key.Instance, e.Err), mostText)
}

// Unwrap returns the cause.
func (e *ForeignError) Unwrap() error { return e.Err }

// UnwrittenError means that a writer has ended before the log had everything.
type UnwrittenError struct {
	Log      string
	Messages uint64 // that are not known to be in the log, and are not in the spool
	Spool    string // its name; empty: there is none
	Spooled  uint64 // messages in it: the next start appends those that the log lacks
	Err      error
}

// Error says how much is missing, and why.
func (e *UnwrittenError) Error() string {
	return sanitize.Linef("bridge: %s: %d messages are not known to be stored%s: %v", e.Log, e.Messages, e.spooled(), e.Err)
}

// Unwrap returns the cause.
func (e *UnwrittenError) Unwrap() error { return e.Err }

// TooLargeError means that a message is larger than the log takes. A Lost record stands in its place.
type TooLargeError struct {
	Log     string
	Tag     tags.Tag
	Counter uint64
	Size    int // of its data, in bytes
	Limit   int // of a record
}

// Error names the message, and what to do.
func (e *TooLargeError) Error() string {
	return sanitize.Linef("bridge: %s: message %d of tag %v has %d bytes, and a record at most %d: it is recorded as lost; raise the limit of the log, or leave the tag out", e.Log, e.Counter, e.Tag, e.Size, e.Limit)
}
