// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"fmt"
)

// Beginnings of a pcap file, in its byte order, and the resolution of its times.
const (
	magicPcapMicros = 0xa1b2c3d4
	magicPcapNanos  = 0xa1b23c4d

	micros resolution = 6
	nanos  resolution = 9
)

// pcapFileHeader and pcapPacketHeader are the sizes of what stands in front of the packets.
const (
	pcapFileHeader   = 24
	pcapPacketHeader = 16
	magicBytes       = 4

	linkTypeMask = 0xffff // above are bits about the checksums of frames
)

// pcapSource is a pcap file.
type pcapSource struct {
	order    binary.ByteOrder
	linkType LinkType
	clock    resolution
	swaps    func(captured, length uint32) bool // the two lengths are in the other order
}

// newPcapFile reads the beginning of a pcap file.
//
//   - Errors: ErrDamaged, wrapped with what it is; ErrTruncated.
func newPcapFile(in *input) (captureInput, error) {
	b, err := in.head(pcapFileHeader)
	if err != nil {
		return nil, err
	}
	f := &pcapSource{order: binary.LittleEndian, clock: micros}
	switch {
	case binary.LittleEndian.Uint32(b) == magicPcapMicros:
	case binary.LittleEndian.Uint32(b) == magicPcapNanos:
		f.clock = nanos
	case binary.BigEndian.Uint32(b) == magicPcapMicros:
		f.order = binary.BigEndian
	case binary.BigEndian.Uint32(b) == magicPcapNanos:
		f.order, f.clock = binary.BigEndian, nanos
	default:
		return nil, fmt.Errorf("%w: it begins with %x, which is neither pcap nor pcapng", ErrDamaged, b[:magicBytes])
	}
	major, minor := f.order.Uint16(b[4:]), f.order.Uint16(b[6:])
	if major != pcapMajor {
		return nil, fmt.Errorf("%w: pcap version %d.%d, and this program reads 2", ErrDamaged, major, minor)
	}
	f.linkType = LinkType(f.order.Uint32(b[20:]) & linkTypeMask)
	switch { // as libpcap does: old programs have written them in either order
	case minor < 3:
		f.swaps = func(_, _ uint32) bool { return true }
	case minor == 3:
		f.swaps = func(captured, length uint32) bool { return captured > length }
	default:
		f.swaps = func(_, _ uint32) bool { return false }
	}
	return f, nil
}

func (f *pcapSource) next(in *input) (p capturedPacket, err error) {
	b, err := in.head(pcapPacketHeader)
	if err != nil {
		return p, err
	}
	p = capturedPacket{captured: f.order.Uint32(b[8:]), length: f.order.Uint32(b[12:]), linkType: f.linkType}
	if f.swaps(p.captured, p.length) {
		p.captured, p.length = p.length, p.captured
	}
	p.time = moment{known: true, resolution: f.clock, seconds: int64(f.order.Uint32(b)), ticks: uint64(f.order.Uint32(b[4:]))}
	return p, nil
}
