// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"tagbus/bus"
)

// A packet that is too long for Wireshark comes in pieces, one behind the other. Each begins
// as the packet does, up to the id of a request. Numbers are big-endian:
//
//	the beginning, with bit 2 of the flags
//	4 bytes   where in the rest of the packet the piece begins
//	4 bytes   bytes of the rest of the packet
//	the rest  bytes of the rest of the packet, at least one
const (
	pieceBytes = 8

	// mostCaptured is the most bytes of a packet of this link type that Wireshark reads. It
	// takes a file with a longer one for damaged.
	mostCaptured = 256 << 10
)

// frontOf returns how many bytes of a packet are in front of its rest.
func frontOf(packet []byte) int {
	if packet[kindAt] == 0 && packet[flagsAt]&flagRequest != 0 {
		return packetBytes + requestBytes
	}
	return packetBytes
}

// appendPiece appends the piece of a packet that begins at a place in its rest, and returns
// the place behind it.
func appendPiece(b, packet []byte, at int) (piece []byte, next int) {
	n := frontOf(packet)
	rest := packet[n:]
	b = append(b, packet[:n]...)
	b[flagsAt] |= flagPiece
	b = binary.BigEndian.AppendUint32(b, uint32(at))
	b = binary.BigEndian.AppendUint32(b, uint32(len(rest)))
	next = min(len(rest), at+mostCaptured-len(b))
	return append(b, rest[at:next]...), next
}

// joiner makes packets of their pieces. The zero value is ready.
type joiner struct {
	packet []byte // as far as it is there
	want   int    // bytes of it; 0: none is begun
	from   bus.Peer
}

// interrupted forgets the packet that is begun, unless a packet of the capture is the next of
// its pieces.
//
//   - b: the packet; nil: there is none any more.
//   - Errors: ErrPacket, wrapped: pieces of a packet are not there.
func (j *joiner) interrupted(b []byte, from *bus.Peer) error {
	if j.want == 0 {
		return nil
	}
	p, isPiece := parsePiece(b)
	n := len(p.head)
	if isPiece && valueOf(from) == j.from && p.at == int64(len(j.packet)-n) && p.all == int64(j.want-n) && bytes.HasPrefix(j.packet, p.head) {
		return nil
	}
	want := j.want
	j.want = 0
	return fmt.Errorf("%w: in front of it %d of the %d bytes of a packet in pieces are there", ErrPacket, len(j.packet), want)
}

// add takes a packet of a capture and returns the packet that it completes, which is valid
// until the next call; nil: pieces are still to come.
//
//   - Errors: ErrPacket, wrapped.
func (j *joiner) add(b []byte, from *bus.Peer) ([]byte, error) {
	p, isPiece := parsePiece(b)
	if !isPiece {
		return b, nil
	}
	if p.at+int64(len(p.rest)) > p.all || len(p.rest) == 0 || p.all > mostPacketBytes {
		j.want = 0
		return nil, fmt.Errorf("%w: a piece of %d bytes at %d of %d", ErrPacket, len(p.rest), p.at, p.all)
	}
	if p.at == 0 {
		j.packet = append(j.packet[:0], p.head...)
		j.want, j.from = len(p.head)+int(p.all), valueOf(from)
	}
	if j.want == 0 {
		return nil, fmt.Errorf("%w: a piece at %d of %d bytes, and those before are not there", ErrPacket, p.at, p.all)
	}
	j.packet = append(j.packet, p.rest...)
	if len(j.packet) < j.want {
		return nil, nil
	}
	j.want = 0
	return j.packet, nil
}

// piece is one that was read.
type piece struct {
	head    []byte // the beginning of the packet, without the flag
	at, all int64  // unsigned in the file
	rest    []byte
}

// parsePiece returns the piece that a packet of a capture is, and reports whether it is one.
func parsePiece(b []byte) (piece, bool) {
	if len(b) < packetBytes || b[versionAt] != packetVersion || b[flagsAt]&flagPiece == 0 {
		return piece{}, false
	}
	n := frontOf(b)
	if len(b) < n+pieceBytes {
		return piece{}, true
	}
	head := bytes.Clone(b[:n])
	head[flagsAt] &^= flagPiece
	return piece{head, int64(binary.BigEndian.Uint32(b[n:])), int64(binary.BigEndian.Uint32(b[n+4:])), b[n+pieceBytes:]}, true
}
