// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"math"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/follow"
	"tagbus/internal/sanitize"
	"tagbus/internal/validate"
)

// ErrInvalidConfig is wrapped in the errors of Config.Validate, once for each violation.
var ErrInvalidConfig = errors.New("bridge/convert: invalid configuration")

// ErrEmpty is wrapped in the error of Run for a span in which the log has no record.
var ErrEmpty = errors.New("has no record of the tags and the span that were asked for: ask for more tags, or for an earlier or longer span")

// TooManyError means that a log has more publishers and tags than Config.MaxChains, or longer names of them than 64 MiB.
type TooManyError = follow.TooManyError

// ReadError means that an entry of the log is no record that can be read, or one of another publisher or tag than the log says.
type ReadError struct {
	Log      string
	Position durable.Position
	Err      error // a *record.FormatError for what is no record
}

// Error names the entry and the cause.
func (e *ReadError) Error() string {
	return sanitize.Cut(sanitize.Linef("bridge/convert: %s: entry %d: %v", e.Log, e.Position, e.Err), mostText)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Config says which part of a log becomes a recording. The zero value is the whole log.
type Config struct {
	// Query is the span of the log. Its Follow must be false.
	Query durable.Query

	// WindowBytes is how much of the log is in memory at once, to order it by time. Default 64 MiB, which is what a bridge holds
	// by default; 1 byte to 1 TiB.
	WindowBytes int

	// MaxChains is how many publishers and tags the span may have, for each of which some 400 bytes are kept. More are a
	// *TooManyError. Default 1,048,576; 1 to 2^31-1.
	MaxChains int
}

func (c Config) withDefaults() Config {
	validate.Default(&c.WindowBytes, 64<<20)
	validate.Default(&c.MaxChains, 1<<20)
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig and names the
// field, its value and its limit.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	if c.Query.Follow {
		v.Add("Query.Follow is true, want false: a recording has an end")
	}
	validate.Within(&v, "WindowBytes", int64(c.WindowBytes), 1, 1<<40)
	validate.Within(&v, "MaxChains", c.MaxChains, 1, math.MaxInt32)
	return v.Err()
}
