// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import "encoding/binary"

// frame stands in front of every message between hubs.
//
//	offset  bytes  content, little-endian
//	0       3      "tbf"
//	3       1      version, 1
//	4       1      kind
//	5       3      zero, and ignored
//	8       8      number of the connection at the receiver: what it has chosen
//	16      8      value, by kind
//
// Numbers are drawn again for each connection, so that what was meant for an
// earlier one, perhaps of an earlier process at the same address, is not taken
// for the present one's.
type frame struct {
	kind  frameKind
	to    uint64
	value uint64
}

type frameKind uint8

// Kinds of frames, their values and what follows.
const (
	frameHello   frameKind = iota + 1 // asks for a connection; to is 0; value: its number here; greeting and address of this hub
	frameAccept                       // value: the number here; greeting
	frameReject                       // value: zero
	frameReady                        // the acceptance has come; value: zero
	frameData                         // value: number of the message, from 0; header and data
	frameCredit                       // value: messages that were consumed
	frameGoodbye                      // the end of this direction; value: messages that were sent
	frameGone                         // answers goodbye; value: zero
)

const (
	frameBytes = 24
	frameMagic = "tbf\x01"

	// maxNameBytes is the longest address of a hub.
	maxNameBytes = 96
)

// put writes f to the front of b.
func (f frame) put(b []byte) {
	copy(b, frameMagic)
	b[4], b[5], b[6], b[7] = byte(f.kind), 0, 0, 0
	binary.LittleEndian.PutUint64(b[8:], f.to)
	binary.LittleEndian.PutUint64(b[16:], f.value)
}

// parseFrame returns a frame and what follows it, and false for what is none or
// makes no sense.
func parseFrame(b []byte) (f frame, rest []byte, ok bool) {
	if len(b) < frameBytes || string(b[:len(frameMagic)]) != frameMagic {
		return frame{}, nil, false
	}
	f = frame{frameKind(b[4]), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}
	rest = b[frameBytes:]
	switch f.kind {
	case frameHello:
		ok = f.value != 0 && len(rest) > greetingBytes && len(rest) <= greetingBytes+maxNameBytes
	case frameAccept:
		ok = f.value != 0 && len(rest) == greetingBytes
	case frameData:
		ok = len(rest) > 0
	case frameCredit:
		ok = f.value > 0 && f.value <= maxCount
	case frameReject, frameReady, frameGoodbye, frameGone:
		ok = true
	}
	return f, rest, ok
}
