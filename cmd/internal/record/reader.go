// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Reader reads records one after the other.
//
// Threads: one at a time.
type Reader struct {
	decoder decoder
	count   uint64
	err     error
}

// Info returns what the capture says of the packet that Next has returned.
//
//   - Result: the zero Info if the input is no capture, or Next has returned none.
//   - Errors: *ReadError with ErrClock, or ErrDamaged for lengths that cannot be.
func (r *Reader) Info() (Info, error) {
	d, isCapture := r.decoder.(*captureDecoder)
	if !isCapture || r.count == 0 || r.err != nil {
		return Info{}, nil
	}
	i, err := d.info()
	if err != nil {
		return Info{}, &ReadError{r.count, err}
	}
	return i, nil
}

// Interface returns the interface on which the packet that Next has returned was captured:
// always the same pointer; nil: a capture in pcap, or no capture, has none.
func (r *Reader) Interface() *Interface {
	d, isCapture := r.decoder.(*captureDecoder)
	if !isCapture || r.count == 0 || r.err != nil {
		return nil
	}
	return d.last.on
}

// Notes returns what is to be said of the capture and was not returned before: that its times
// are rounded.
func (r *Reader) Notes() (notes []string) {
	if d, isCapture := r.decoder.(*captureDecoder); isCapture && len(d.notes) > 0 {
		notes, d.notes = d.notes, nil
	}
	return notes
}

// decoder finds the records of one format.
type decoder interface {
	// next returns the next record, or io.EOF, bare, at an orderly end.
	next() ([]byte, error)
	// reset begins with another input.
	reset(r io.Reader) error
}

// bufferBytes is how much a reader asks for at once.
const bufferBytes = 256 << 10

// NewReader returns a reader of the records in r.
//
//   - maxBytes: of the longest record taken; at least 1. A reader of lines or
//     length32 takes as much memory, one of captures what its interfaces take more.
//   - Errors: one that wraps ErrFormat, for a format that is not read;
//     *ReadError, for a capture file that does not begin as one.
//   - Blocks: captures, for the beginning of r.
func NewReader(f Format, r io.Reader, maxBytes int) (*Reader, error) {
	var d decoder
	switch f.Kind {
	case Fixed:
		if f.Bytes > maxBytes {
			return nil, &ReadError{1, tooLong(int64(f.Bytes), maxBytes)}
		}
		d = &fixedDecoder{b: bufio.NewReaderSize(nil, max(f.Bytes, bufferBytes)), size: f.Bytes}
	case Lines:
		d = &lineDecoder{b: bufio.NewReaderSize(nil, max(maxBytes+1, bufferBytes)), maxBytes: maxBytes}
	case Length32:
		d = &lengthDecoder{b: bufio.NewReaderSize(nil, max(maxBytes+lengthBytes, bufferBytes)), maxBytes: maxBytes}
	case Raw:
		d = &wholeDecoder{maxBytes: maxBytes}
	case Pcap, Pcapng:
		d = &captureDecoder{input: input{bufio.NewReaderSize(nil, bufferBytes)}, maxBytes: maxBytes}
	default:
		return nil, fmt.Errorf("%w: %q is not for input", ErrFormat, f)
	}
	reader := &Reader{decoder: d}
	return reader, reader.Reset(r)
}

// Reset begins to read another input of the same format.
//
//   - Errors, Blocks: as NewReader.
func (r *Reader) Reset(input io.Reader) error {
	r.count, r.err = 0, nil
	if err := r.decoder.reset(input); err != nil {
		r.err = &ReadError{1, err}
	}
	return r.err
}

// Next returns the next record, valid until the next call.
//
//   - Errors: io.EOF, bare, after the last; *ReadError with ErrTooLong,
//     ErrTruncated, ErrDamaged or the input's. Once it has failed, it fails in
//     the same way for ever.
//   - Blocks: for the input. Allocates: no, except for a packet that is longer
//     than the ones before it.
func (r *Reader) Next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	data, err := r.decoder.next()
	if err == nil {
		r.count++
		return data, nil
	}
	r.err = err
	if err != io.EOF { //nolint:errorlint // the readers below return it bare, and wrap it when it means something else
		r.err = &ReadError{r.count + 1, err}
	}
	return nil, r.err
}

func tooLong(n int64, most int) error {
	return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLong, n, most)
}

// truncated says that n of the announced bytes are there.
func truncated(n, announced int64) error {
	return fmt.Errorf("%w: %d bytes announced, %d there", ErrTruncated, announced, n)
}

// fixedDecoder reads records of one size, the last one perhaps shorter.
type fixedDecoder struct {
	b    *bufio.Reader
	size int
	last int // bytes of the record returned before
}

func (d *fixedDecoder) reset(r io.Reader) error {
	d.b.Reset(r)
	d.last = 0
	return nil
}

func (d *fixedDecoder) next() ([]byte, error) {
	discard(d.b, d.last)
	data, err := d.b.Peek(d.size)
	d.last = len(data)
	if errors.Is(err, io.EOF) && d.last > 0 {
		err = nil
	}
	return data, err
}

// wholeDecoder reads all of the input as one record.
type wholeDecoder struct {
	r        io.Reader
	maxBytes int
}

func (d *wholeDecoder) reset(r io.Reader) error {
	d.r = r
	return nil
}

func (d *wholeDecoder) next() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(d.r, int64(d.maxBytes)+1))
	switch {
	case len(data) > d.maxBytes:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, d.maxBytes)
	case err == nil && len(data) == 0:
		err = io.EOF
	}
	return data, err
}

// lineDecoder reads records that end with a line feed, which the last may lack.
type lineDecoder struct {
	b        *bufio.Reader
	maxBytes int
}

func (d *lineDecoder) reset(r io.Reader) error {
	d.b.Reset(r)
	return nil
}

func (d *lineDecoder) next() ([]byte, error) {
	data, err := d.b.ReadSlice('\n')
	data, whole := bytes.CutSuffix(data, lineFeed)
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || len(data) > d.maxBytes:
		return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrTooLong, d.maxBytes)
	case errors.Is(err, io.EOF) && !whole && len(data) > 0:
		return data, nil
	}
	return data, err
}

// lengthDecoder reads records that begin with their length.
type lengthDecoder struct {
	b        *bufio.Reader
	maxBytes int
	last     int // bytes of the record returned before, its length included
}

// lengthBytes is the size of the length before a record.
const lengthBytes = 4

func (d *lengthDecoder) reset(r io.Reader) error {
	d.b.Reset(r)
	d.last = 0
	return nil
}

func (d *lengthDecoder) next() ([]byte, error) {
	discard(d.b, d.last)
	d.last = 0
	head, err := d.b.Peek(lengthBytes)
	if err != nil {
		if errors.Is(err, io.EOF) && len(head) > 0 {
			err = truncated(int64(len(head)), lengthBytes)
		}
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head)
	if uint64(n) > uint64(d.maxBytes) {
		return nil, tooLong(int64(n), d.maxBytes)
	}
	data, err := d.b.Peek(lengthBytes + int(n))
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = truncated(int64(len(data)-lengthBytes), int64(n))
		}
		return nil, err
	}
	d.last = len(data)
	return data[lengthBytes:], nil
}

// discard skips bytes that are in the buffer, which cannot fail.
func discard(b *bufio.Reader, n int) { _, _ = b.Discard(n) }
