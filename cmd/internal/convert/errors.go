// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"fmt"
	"math"
	"time"

	"tagbus/cmd/internal/record"
)

var (
	// ErrTime is wrapped by the errors for a record of which the time has no place in the
	// format.
	ErrTime = errors.New("time before 1970, which the format cannot hold: leave it out with --from, or use --to csv")

	// ErrSeveralTags is wrapped by the error for messages of several tags in a format that
	// keeps no tag.
	ErrSeveralTags = errors.New("length32 keeps no tag: choose one with --tags, or write all with --mixed")

	// ErrPublishers is returned for a recording with more publishers than MCAP has numbers
	// for their channels.
	ErrPublishers = fmt.Errorf("more than %d publishers, and a channel of MCAP has a number of 16 bits: choose some with --publisher", mostSeries)

	// ErrLinkType is wrapped by the errors for a packet that names no tag.
	ErrLinkType = fmt.Errorf("only packets of the link type USER0 (%d) name their tag: give one to all with --tag N", user0)

	// ErrTerminal is returned for bytes that are not for a terminal.
	ErrTerminal = errors.New("--out: a terminal cannot show this format: name a file, or use --to csv with --data hex")

	// ErrIsInput is wrapped by the error for an output that is one of the inputs.
	ErrIsInput = errors.New("it is one of the inputs: name another file")
)

// user0 is the link type of the packets of tagbus: one of those that everybody may use.
const user0 record.LinkType = 147

// nanoseconds returns a time as formats have it: since 1970, not before it.
//
//   - Errors: ErrTime, wrapped with the time.
func nanoseconds(t time.Time) (uint64, error) {
	if s := t.Unix(); s < 0 || s >= math.MaxInt64/int64(time.Second) {
		return 0, fmt.Errorf("a record of %s: %w", t.UTC().Format(time.RFC3339Nano), ErrTime)
	}
	return uint64(t.UnixNano()), nil
}
