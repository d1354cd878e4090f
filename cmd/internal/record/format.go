// SPDX-License-Identifier: Apache-2.0

// Package record reads and writes files of records: the bytes of messages and
// where each begins. The formats are
//
//	fixed:N   records of N bytes, one after the other; the last may be shorter
//	lines     records end with a line feed, which is not part of them
//	length32  u32 length, little endian, then as many bytes, per record
//	pcap      a capture file, one packet per record; pcap and pcapng are read,
//	          pcap is written
//	pcapng    as pcap, and pcapng is written
//	raw       the bytes of the records without a mark between them; all that is read is
//	          one record, or none if there is nothing
//
// Captures say of each packet its link type, its time, and its length before the capture
// cut it. Reader.Info has that, AppendHeader puts it before the packet in a message, and
// Open finds it there. Of other messages written captures have the time of writing and a
// link type that the caller chooses.
//
// Readers hold one record at a time and take no memory because of a length
// that the input announces.
package record

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the way in which records are told apart.
type Kind int

// The zero Kind is none.
const (
	Fixed Kind = iota + 1
	Lines
	Length32
	Pcap
	Pcapng
	Raw
)

var kindNames = map[Kind]string{
	Fixed: "fixed", Lines: "lines", Length32: "length32", Pcap: "pcap", Pcapng: "pcapng", Raw: "raw",
}

// String returns the kind's name.
func (k Kind) String() string { return kindNames[k] }

// Format is a record format. The zero value is none.
type Format struct {
	Kind  Kind
	Bytes int // of a record; Fixed only
}

// IsCapture reports whether its records are packets of which something is known.
func (f Format) IsCapture() bool { return f.Kind == Pcap || f.Kind == Pcapng }

// maxFixedBytes is the longest fixed record, and more than a message can have.
const maxFixedBytes = 1 << 30

// UnmarshalText reads the name of a format, as listed above.
//
//   - Errors: one that wraps ErrFormat.
func (f *Format) UnmarshalText(text []byte) error {
	name, size, sized := strings.Cut(string(text), ":")
	for kind, known := range kindNames {
		if name != known || sized != (kind == Fixed) {
			continue
		}
		n := 0
		if sized {
			var err error
			if n, err = strconv.Atoi(size); err != nil || n < 1 || n > maxFixedBytes {
				return fmt.Errorf("%w: %q: want fixed:N with N from 1 to %d bytes", ErrFormat, text, maxFixedBytes)
			}
		}
		*f = Format{kind, n}
		return nil
	}
	return fmt.Errorf("%w: %q: want fixed:N, lines, length32, pcap, pcapng or raw", ErrFormat, text)
}

// String returns the name of the format, as UnmarshalText reads it.
func (f Format) String() string {
	if f.Kind == Fixed {
		return fmt.Sprintf("%v:%d", f.Kind, f.Bytes)
	}
	return f.Kind.String()
}
