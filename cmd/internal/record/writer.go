// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// Writer writes records one after the other.
//
// Threads: one at a time.
type Writer struct {
	write   func(record []byte) error
	flush   func() error
	size    int // of a record; 0 if any
	misfits uint64
}

// captureBytes is the longest packet that written captures announce: some
// readers refuse those above it.
const captureBytes = 1 << 30

var lineFeed = []byte("\n")

// NewWriter returns a writer of records to w, which it calls for each record:
// give it a buffered one. Captures begin with a header, which it writes at once.
//
//   - Errors: one that wraps ErrFormat for the zero Format; those of w.
func NewWriter(f Format, w io.Writer) (*Writer, error) {
	r := &Writer{flush: func() error { return nil }}
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
		p := pcapgo.NewWriterNanos(w)
		r.write = packetWriter(p)
		return r, p.WriteFileHeader(captureBytes, layers.LinkTypeEthernet)
	case Pcapng:
		p, err := pcapgo.NewNgWriter(w, layers.LinkTypeEthernet)
		if err != nil {
			return nil, err
		}
		r.write, r.flush = packetWriter(p), p.Flush
	default:
		return nil, fmt.Errorf("%w: %q is not for output", ErrFormat, f)
	}
	return r, nil
}

// Write writes one record.
//
//   - Errors: ErrLineFeed; those of the underlying writer.
//   - Allocates: no.
func (w *Writer) Write(record []byte) error {
	if w.size != 0 && len(record) != w.size {
		w.misfits++
	}
	return w.write(record)
}

// Flush hands everything to the underlying writer, which is not flushed.
func (w *Writer) Flush() error { return w.flush() }

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

type packetSink interface {
	WritePacket(gopacket.CaptureInfo, []byte) error
}

func packetWriter(p packetSink) func([]byte) error {
	return func(b []byte) error {
		return p.WritePacket(gopacket.CaptureInfo{Timestamp: time.Now(), CaptureLength: len(b), Length: len(b)}, b)
	}
}
