// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
)

var (
	// ErrFormat is wrapped by the errors of Format.UnmarshalText and of
	// NewReader and NewWriter for a format that cannot be read or written.
	ErrFormat = errors.New("unknown record format")

	// ErrTooLong is wrapped by the ReadError for a record that is longer than
	// the reader was told to take.
	ErrTooLong = errors.New("record too long")

	// ErrTruncated is wrapped by the ReadError for an input that ends within
	// a record.
	ErrTruncated = errors.New("input ends within a record")

	// ErrDamaged is wrapped by the ReadError for an input that is not of its
	// format.
	ErrDamaged = errors.New("not a file of this format")

	// ErrHeader is wrapped by the errors of Open for a message that begins as a record
	// header and holds none that is known. A newer program may know it.
	ErrHeader = errors.New("record header that cannot be read")

	// ErrClock is wrapped by the errors of Reader.Info for a packet of which the time
	// cannot be told. The packet itself is good.
	ErrClock = errors.New("time that cannot be told")

	// ErrUnfit is wrapped by the errors of the writer of pcap for a packet that this
	// format cannot hold as it is. Use pcapng.
	ErrUnfit = errors.New("pcap cannot hold this packet")

	// ErrLineFeed is returned by the writer of lines for a record that holds
	// a line feed, which would make two of it. Use another format.
	ErrLineFeed = errors.New("record holds a line feed: lines cannot hold it: use another format, such as length32")
)

// ReadError says which record could not be read, and why.
type ReadError struct {
	Record uint64 // 1 for the first
	Err    error
}

// Error names the record and the cause.
func (e *ReadError) Error() string { return fmt.Sprintf("record %d: %v", e.Record, e.Err) }

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }
