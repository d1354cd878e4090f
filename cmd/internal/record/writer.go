// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// Writer writes records one after the other.
//
// Threads: one at a time.
type Writer struct {
	write    func(record []byte) error // nil for captures
	capture  captureFile               // nil for others
	linkType LinkType                  // of packets of which nothing is known
	size     int                       // of a record; 0 if any
	misfits  uint64
}

// captureFile is a capture that is written. It begins with the first packet, which says
// of which link type it is.
type captureFile interface {
	packet(data []byte, i Info) error
	flush() error
	// begin writes the beginning of the file, if there is none.
	begin(LinkType) error
}

var lineFeed = []byte("\n")

// NewWriter returns a writer of records to w, which it calls for each record:
// give it a buffered one.
//
//   - linkType: for captures, of the packets of which nothing is known.
//   - Errors: one that wraps ErrFormat for the zero Format.
func NewWriter(f Format, w io.Writer, linkType LinkType) (*Writer, error) {
	r := &Writer{linkType: linkType}
	switch f.Kind {
	case Fixed, Raw:
		r.size = f.Bytes
		r.write = func(b []byte) error { return write(w, b) }
	case Lines:
		r.write = func(b []byte) error {
			if bytes.IndexByte(b, '\n') >= 0 {
				return ErrLineFeed
			}
			return write(w, b, lineFeed)
		}
	case Length32:
		head := make([]byte, 4)
		r.write = func(b []byte) error {
			binary.LittleEndian.PutUint32(head, uint32(len(b)))
			return write(w, head, b)
		}
	case Pcap:
		r.capture = &pcapFile{w: w}
	case Pcapng:
		r.capture = &pcapngFile{w: w}
	default:
		return nil, fmt.Errorf("%w: %q is not for output", ErrFormat, f)
	}
	return r, nil
}

// Write writes one record. In a capture it has what is known of it. Otherwise it has the
// time of writing and the link type that NewWriter was given.
//
//   - Errors: ErrLineFeed; one that wraps ErrUnfit; those of the underlying writer.
//   - Allocates: no, except for the first packet of a link type.
func (w *Writer) Write(p Packet) error {
	if w.capture == nil {
		if w.size != 0 && len(p.Data) != w.size {
			w.misfits++
		}
		return w.write(p.Data)
	}
	if !p.Known {
		p.Info = Info{w.linkType, time.Now(), uint32(len(p.Data))}
	}
	return w.capture.packet(p.Data, p.Info)
}

// Flush hands everything to the underlying writer, which is not flushed.
func (w *Writer) Flush() error {
	if w.capture == nil {
		return nil
	}
	return w.capture.flush()
}

// End is Flush after the last record: a capture without packets gets its beginning.
func (w *Writer) End() error {
	if w.capture == nil {
		return nil
	}
	if err := w.capture.begin(w.linkType); err != nil {
		return err
	}
	return w.capture.flush()
}

// Misfits returns how many records did not have the length of the format
// fixed:N. They were written as they are, so that no byte is missing, but a
// reader finds the boundaries after them elsewhere, unless it was the last.
func (w *Writer) Misfits() uint64 { return w.misfits }

func write(w io.Writer, parts ...[]byte) error {
	for _, b := range parts {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
