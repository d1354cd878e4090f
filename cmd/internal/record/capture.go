// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

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
	d.packets, err = newPackets(func() (packets, error) {
		if binary.LittleEndian.Uint32(head) != magicSection {
			return pcapgo.NewReader(d.limit)
		}
		// By default the library leaves out packets of a second link type.
		return pcapgo.NewNgReader(d.limit, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	})
	if err != nil {
		return captureError(err)
	}
	return nil
}

func (d *captureDecoder) next() ([]byte, error) {
	d.limit.left = d.maxBytes + budgetExtra
	data, info, err := nextPacket(d.packets)
	switch {
	case errors.Is(err, io.EOF) && info.CaptureLength > 0:
		return nil, truncated(len(data), info.CaptureLength)
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
