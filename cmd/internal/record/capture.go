// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/pcapgo"
)

// packets is what both readers of the library do.
type packets interface {
	ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error)
}

// Beginning of a pcapng file, and of a compressed one.
const (
	magicSection = 0x0a0d0d0a
	magicGzip    = 0x8b1f
)

// captureDecoder reads the packets of a pcap or pcapng file, whichever it is.
type captureDecoder struct {
	b        *bufio.Reader
	maxBytes int
	limit    *budget
	packets  packets
	ng       *pcapgo.NgReader // packets, if that is one
	clocks   *clocks          // of ng
	last     gopacket.CaptureInfo
	linkType LinkType // of all packets, if ng is nil
}

func (d *captureDecoder) reset(r io.Reader) error {
	d.b.Reset(r)
	head, err := d.b.Peek(4)
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: pcap or pcapng: only %d bytes", ErrDamaged, len(head))
	case err != nil:
		return err
	case binary.LittleEndian.Uint16(head) == magicGzip:
		// The library would read it, but a small file may then hold
		// any number of bytes.
		return fmt.Errorf("%w: compressed with gzip: pipe it through zcat", ErrDamaged)
	}
	d.limit = &budget{r: d.b, left: d.maxBytes + budgetExtra}
	d.ng = nil
	d.packets, err = newPackets(func() (packets, error) {
		if binary.LittleEndian.Uint32(head) != magicSection {
			p, err := pcapgo.NewReader(d.limit)
			if err == nil {
				d.linkType = LinkType(p.LinkType())
			}
			return p, err
		}
		// By default the library leaves out packets of a second link type.
		d.clocks = newClocks(d.limit)
		p, err := pcapgo.NewNgReader(d.clocks, pcapgo.NgReaderOptions{WantMixedLinkType: true})
		d.ng = p
		return p, err
	})
	if err != nil {
		return captureError(err)
	}
	return nil
}

// maxExponent is that of the smallest decimal fraction of a second that the library can
// count in: 10^20 is more than 64 bits.
const maxExponent = 19

// microseconds is what the library makes of an interface that counts these, or seconds.
const microseconds = 6

// info returns what the capture says of the packet that next has returned.
func (d *captureDecoder) info() (Info, error) {
	i := Info{d.linkType, d.last.Timestamp, uint32(d.last.Length)}
	if i.Time.IsZero() { // a Simple Packet Block has none
		i.Time = time.Unix(0, 0)
	}
	if d.ng == nil {
		return i, nil
	}
	from, err := d.ng.Interface(d.last.InterfaceIndex)
	if err != nil {
		return Info{}, captureError(err)
	}
	i.LinkType = LinkType(from.LinkType)
	// The library rounds where a second is no power of ten.
	switch r := from.TimestampResolution; {
	case r.Binary() || r.Exponent() > maxExponent:
		t := r.ToTimestampResolution()
		return Info{}, fmt.Errorf("%w: interface %d counts in steps of %d^%d s", ErrClock, d.last.InterfaceIndex, t.Base, t.Exponent)
	case r == microseconds && d.clocks.seconds:
		return Info{}, fmt.Errorf("%w: interface %d counts microseconds or, as one of this file does, seconds", ErrClock, d.last.InterfaceIndex)
	}
	return i, nil
}

func (d *captureDecoder) next() ([]byte, error) {
	d.limit.left = d.maxBytes + budgetExtra
	data, info, err := nextPacket(d.packets)
	d.last = info
	switch {
	case errors.Is(err, io.EOF) && info.CaptureLength > 0:
		return nil, truncated(0, info.CaptureLength) // there is no more than the header
	case err == io.EOF: //nolint:errorlint // wrapped it would be no orderly end
		return nil, io.EOF
	case err != nil:
		return nil, captureError(err)
	case len(data) > d.maxBytes:
		return nil, tooLong(len(data), d.maxBytes)
	}
	return data, nil
}

// newPackets and nextPacket make an error of a panic: the library reads a
// format with many corners, and the file may come from anywhere.
func newPackets(open func() (packets, error)) (p packets, err error) {
	defer recovered(&err)
	return open()
}

func nextPacket(p packets) (data []byte, info gopacket.CaptureInfo, err error) {
	defer recovered(&err)
	return p.ZeroCopyReadPacketData()
}

func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%w: the capture library panicked: %v\n%s", ErrDamaged, v, debug.Stack())
	}
}

// captureError sorts an error of the library, which has no sentinels.
func captureError(err error) error {
	switch {
	case errors.Is(err, ErrTooLong), errors.Is(err, ErrTruncated), errors.Is(err, ErrDamaged):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	default:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
}

// budget bounds what the library can take for one record: it makes memory of
// what it reads, and reads what the file announces.
type budget struct {
	r    io.Reader
	left int
}

// budgetExtra is for what stands between packets: headers, options, other
// blocks, and what the library reads ahead.
const budgetExtra = 1 << 20

// Read reads at most what is left.
func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: more bytes than a message may have lie between two packets", ErrTooLong)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
