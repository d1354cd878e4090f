// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"
)

// LinkType says what the bytes of a packet begin with: one of the LINKTYPE_ values of
// pcap. The zero value is BSD loopback.
type LinkType uint16

// Ethernet is the link type of written packets of which nothing is known.
const Ethernet LinkType = 1

// UnmarshalText reads a number.
func (l *LinkType) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 16)
	if err != nil {
		return fmt.Errorf("%q is no link type: want 0 to 65535, for example 1 (Ethernet) or 113 (Linux cooked)", text)
	}
	*l = LinkType(n)
	return nil
}

// Info is what a capture says of a packet.
type Info struct {
	LinkType LinkType
	Time     time.Time // 1970 to 2262; 1970-01-01 00:00 UTC if the capture has none
	Length   uint32    // bytes of the packet before the capture cut it; at least those there are
}

// Packet is a record, and what a capture says of it if it is known.
type Packet struct {
	Data  []byte
	Known bool
	Info
}

// A record header stands before a packet in a message, so that what a capture says of
// the packet crosses the bus. All numbers are little endian:
//
//	 0        8         9          10          12         16       24
//	┌────────┬─────────┬──────────┬───────────┬──────────┬────────┬────────┐
//	│ magic  │ version │ reserved │ link type │ original │ time   │ packet │
//	│ 8 bytes│ u8, 1   │ u8, 0    │ u16       │ len. u32 │ u64 ns │        │
//	└────────┴─────────┴──────────┴───────────┴──────────┴────────┴────────┘
//
// time counts from 1970 UTC. The captured length is that of the rest of the message.
const (
	// HeaderBytes is the size of a record header.
	HeaderBytes = 24

	magic   = "\x89tagbus\n" // the first byte is none of text
	version = 1

	versionAt, reservedAt, linkTypeAt, lengthAt, timeAt = 8, 9, 10, 12, 16
)

// maxTime is the first second that a record header cannot hold.
const maxTime = math.MaxInt64 / int64(time.Second)

// AppendHeader appends the record header of a packet to b.
//
//   - captured: bytes of the packet that there are.
//   - Errors: one that wraps ErrDamaged, for a time or a length that cannot be.
func AppendHeader(b []byte, i Info, captured int) ([]byte, error) {
	if s := i.Time.Unix(); s < 0 || s >= maxTime {
		return b, fmt.Errorf("%w: its time, %s, is outside of 1970 to 2262", ErrDamaged, i.Time.UTC().Format(time.RFC3339Nano))
	}
	if uint64(captured) > uint64(i.Length) {
		return b, fmt.Errorf("%w: %d bytes were captured of a packet of %d", ErrDamaged, captured, i.Length)
	}
	b = append(b, magic...)
	b = append(b, version, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(i.LinkType))
	b = binary.LittleEndian.AppendUint32(b, i.Length)
	return binary.LittleEndian.AppendUint64(b, uint64(i.Time.UnixNano())), nil
}

// Open separates the packet in a message from its record header. A message without one
// is a packet of which nothing is known.
//
//   - Errors: one that wraps ErrHeader, for a message that begins as a record header
//     and holds none that is known.
//   - Allocates: no. Packet.Data is a part of message.
func Open(message []byte) (Packet, error) {
	if len(message) < len(magic) || string(message[:len(magic)]) != magic {
		return Packet{Data: message}, nil
	}
	if len(message) < HeaderBytes {
		return Packet{}, fmt.Errorf("%w: it has %d of %d bytes", ErrHeader, len(message), HeaderBytes)
	}
	if v := message[versionAt]; v != version || message[reservedAt] != 0 {
		return Packet{}, fmt.Errorf("%w: its version is %d.%d, and this program knows %d.0", ErrHeader, v, message[reservedAt], version)
	}
	p := Packet{Data: message[HeaderBytes:], Known: true}
	p.LinkType = LinkType(binary.LittleEndian.Uint16(message[linkTypeAt:]))
	if p.Length = binary.LittleEndian.Uint32(message[lengthAt:]); uint64(p.Length) < uint64(len(p.Data)) {
		return Packet{}, fmt.Errorf("%w: %d bytes of a packet of %d", ErrHeader, len(p.Data), p.Length)
	}
	ns := binary.LittleEndian.Uint64(message[timeAt:])
	if ns/uint64(time.Second) >= uint64(maxTime) {
		return Packet{}, fmt.Errorf("%w: its time, %d ns, is after 2262", ErrHeader, ns)
	}
	p.Time = time.Unix(0, int64(ns)).UTC()
	return p, nil
}
