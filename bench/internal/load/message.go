// SPDX-License-Identifier: Apache-2.0

package load

import "encoding/binary"

// A message begins with a header of HeaderBytes, little-endian; what follows is
// a pattern that depends on the position only.
//
//	offset  bytes  content
//	0       8      sequence: 0, 1, … in its lane
//	8       4      lane: producer × tags + tag, or EndLane
//	12      4      check of these two
//	16      8      when it was due, ns of CLOCK_MONOTONIC; 0 when that is not measured
//
// A message of EndLane says how many messages came before: in its sequence.
const (
	HeaderBytes = 24
	EndLane     = 1<<32 - 1

	// sampleMask: of how many messages of a lane one is compared byte by byte.
	sampleMask = 1<<10 - 1
)

// check binds sequence and lane, so that bytes of another message, or none, are
// noticed.
func check(sequence uint64, lane uint32) uint32 {
	return uint32(((sequence ^ uint64(lane)<<32) * 0x9E3779B97F4A7C15) >> 32)
}

// NewMessage returns a message of a size, with its pattern.
func NewMessage(size int) []byte {
	b := make([]byte, size)
	Fill(b)
	return b
}

// Fill writes the pattern into a message.
func Fill(b []byte) {
	for i := HeaderBytes; i < len(b); i++ {
		b[i] = byte(i*31 + i>>8)
	}
}

// Stamp writes the header of a message.
func Stamp(b []byte, sequence uint64, lane uint32, due int64) {
	_ = b[HeaderBytes-1]
	binary.LittleEndian.PutUint64(b, sequence)
	binary.LittleEndian.PutUint32(b[8:], lane)
	binary.LittleEndian.PutUint32(b[12:], check(sequence, lane))
	binary.LittleEndian.PutUint64(b[16:], uint64(due))
}

// Sequence returns the sequence of a message and whether its header is whole.
func Sequence(b []byte) (uint64, bool) {
	if len(b) < HeaderBytes {
		return 0, false
	}
	sequence, lane := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])
	return sequence, binary.LittleEndian.Uint32(b[12:]) == check(sequence, lane)
}

// IsEnd reports whether a message is an end message.
func IsEnd(b []byte) bool {
	return len(b) >= HeaderBytes && binary.LittleEndian.Uint32(b[8:]) == EndLane
}
