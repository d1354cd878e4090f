// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// captureDecoder reads the packets of a pcap or pcapng file, whichever it is.
type captureDecoder struct {
	input
	maxBytes int
	file     captureInput
	last     capturedPacket
	data     []byte // of the last packet
	notes    []string
	noted    [256]bool // resolutions of which a note has told
}

// captureInput is one of the two formats.
type captureInput interface {
	// next reads what is in front of the bytes of the next packet, or returns io.EOF, bare.
	next(in *input) (capturedPacket, error)
}

// capturedPacket is what a capture says of a packet.
type capturedPacket struct {
	captured uint32 // bytes that are there
	behind   int64  // bytes that follow them
	length   uint32 // of the packet
	linkType LinkType
	on       *Interface // nil: not known
	time     moment
}

func (d *captureDecoder) reset(r io.Reader) error {
	d.b.Reset(r)
	d.last, d.notes, d.noted = capturedPacket{}, nil, [256]bool{}
	head, err := d.b.Peek(SniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(head) < magicBytes {
		return fmt.Errorf("%w: pcap or pcapng: only %d bytes", ErrDamaged, len(head))
	}
	if other := Sniff(head); other != "" {
		return fmt.Errorf("%w: %s", ErrDamaged, other)
	}
	if binary.LittleEndian.Uint32(head) == blockSection {
		d.file = &ngFile{}
		return nil
	}
	d.file, err = newPcapFile(&d.input)
	return err
}

// info returns what the capture says of the packet that next has returned.
func (d *captureDecoder) info() (Info, error) {
	p := &d.last
	if p.captured > p.length {
		return Info{}, fmt.Errorf("%w: %d bytes were captured of a packet of %d", ErrDamaged, p.captured, p.length)
	}
	at, err := p.time.time()
	if err != nil {
		return Info{}, err
	}
	return Info{LinkType: p.linkType, Time: at, Length: p.length}, nil
}

func (d *captureDecoder) next() (data []byte, err error) {
	if d.last, err = d.file.next(&d.input); err != nil {
		return nil, err
	}
	if uint64(d.last.captured) > uint64(d.maxBytes) {
		return nil, tooLong(int64(d.last.captured), d.maxBytes)
	}
	if d.data, err = d.read(d.data[:0], int(d.last.captured)); err != nil {
		return nil, err
	}
	if err := d.skip(d.last.behind); err != nil {
		return nil, err
	}
	if t := &d.last.time; t.rounds() && !d.noted[t.resolution] {
		d.noted[t.resolution] = true
		d.notes = append(d.notes, fmt.Sprintf("times are in steps of %v s, and are rounded to the nanosecond", t.resolution))
	}
	return d.data, nil
}

// input is what a capture is read from.
type input struct{ b *bufio.Reader }

// atOnce is how much memory is made for bytes before they are there.
const atOnce = 64 << 10

// read appends n bytes.
//
//   - Errors: ErrTruncated, wrapped with how many there are; those of the input.
func (in *input) read(b []byte, n int) ([]byte, error) {
	for begin := len(b); len(b)-begin < n; {
		more := min(n-(len(b)-begin), max(atOnce, len(b)-begin))
		b = slices.Grow(b, more)
		got, err := io.ReadFull(in.b, b[len(b):len(b)+more])
		b = b[:len(b)+got]
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = truncated(int64(len(b)-begin), int64(n))
			}
			return b, err
		}
	}
	return b, nil
}

// skip passes over n bytes.
//
//   - Errors: as read.
func (in *input) skip(n int64) error {
	for left := n; left > 0; {
		got, err := in.b.Discard(int(min(left, skipAtOnce)))
		left -= int64(got)
		if errors.Is(err, io.EOF) {
			return truncated(n-left, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const skipAtOnce = 1 << 30 // fits into an int

// head returns the next n bytes, which are few, valid until the next call of a method;
// io.EOF, bare, if there are none.
//
//   - Errors: as read.
func (in *input) head(n int) ([]byte, error) {
	b, err := in.b.Peek(n)
	switch {
	case err == nil:
		discard(in.b, n)
		return b, nil
	case errors.Is(err, io.EOF) && len(b) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		return nil, truncated(int64(len(b)), int64(n))
	}
	return nil, err
}
