// SPDX-License-Identifier: Apache-2.0

// Package emulate makes messages like a detector's that can be checked at the
// other end, and checks them.
//
// A message, all numbers little endian:
//
//	 0        8       12       16                 size
//	┌────────┬────────┬────────┬──────────────────┐
//	│ counter│ size   │ CRC-32C│ pattern          │
//	│ u64    │ u32    │ u32    │                  │
//	└────────┴────────┴────────┴──────────────────┘
//
// counter is 1 for the first message of a tag and grows by one, so that it is
// the Counter that the bus gives the message. size is that of the whole message. The
// checksum is over all bytes but its own. The pattern is a piece of a block of
// random bytes, from a place that depends on the counter.
//
// A message of at least 24 bytes may be stamped: then bit 31 of size is set, and
// its first 8 bytes of pattern are the time at which it was made, in nanoseconds
// since 1970.
//
// A message of less than 16 bytes has no room for that. It holds the lowest
// bytes of the counter, at most 8, and after them their complements, at most 7:
// each byte can be checked, but a counter of n bytes repeats after 256^n.
package emulate

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"time"
)

const (
	counterBytes = 8
	sizeAt       = 8
	crcAt        = 12

	// HeaderBytes is the size of the smallest message with a checksum.
	HeaderBytes = 16

	// StampedBytes is the size of the smallest message with a time.
	StampedBytes = HeaderBytes + 8

	stampedBit = 1 << 31 // of size
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC of a message of at least HeaderBytes.
func checksum(message []byte) uint32 {
	head := crc32.Update(0, castagnoli, message[:crcAt])
	return crc32.Update(head, castagnoli, message[HeaderBytes:])
}

// seal makes message, which holds any bytes, the one with a counter, and with a
// time if there is one and room for it.
func seal(message []byte, counter uint64, stamp time.Time) {
	if len(message) < HeaderBytes {
		sealShort(message, counter)
		return
	}
	size := uint32(len(message))
	if !stamp.IsZero() && len(message) >= StampedBytes {
		size |= stampedBit
		binary.LittleEndian.PutUint64(message[HeaderBytes:], uint64(stamp.UnixNano()))
	}
	binary.LittleEndian.PutUint64(message, counter)
	binary.LittleEndian.PutUint32(message[sizeAt:], size)
	binary.LittleEndian.PutUint32(message[crcAt:], checksum(message))
}

func sealShort(message []byte, counter uint64) {
	for i := range message {
		message[i] = shortByte(counter, i)
	}
}

// shortByte returns byte i of a message without header.
func shortByte(counter uint64, i int) byte {
	b := byte(counter >> (8 * (i % counterBytes)))
	if i >= counterBytes {
		b = ^b
	}
	return b
}

// open checks that message is whole and returns its counter, of which bits are
// known: 64 except in the shortest messages.
func open(message []byte) (counter uint64, bits int, err error) {
	if len(message) < HeaderBytes {
		return openShort(message)
	}
	if n := binary.LittleEndian.Uint32(message[sizeAt:]) &^ stampedBit; uint64(n) != uint64(len(message)) {
		return 0, 0, fmt.Errorf("%w: it says that it has %d bytes and has %d", ErrCorrupt, n, len(message))
	}
	want := binary.LittleEndian.Uint32(message[crcAt:])
	if got := checksum(message); got != want {
		return 0, 0, fmt.Errorf("%w: checksum %08x, want %08x", ErrCorrupt, got, want)
	}
	return binary.LittleEndian.Uint64(message), 64, nil
}

// stampOf returns the time of a message that open has checked, if it has one.
func stampOf(message []byte) (stamp time.Time, ok bool) {
	if len(message) < StampedBytes || binary.LittleEndian.Uint32(message[sizeAt:])&stampedBit == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, int64(binary.LittleEndian.Uint64(message[HeaderBytes:]))), true
}

func openShort(message []byte) (counter uint64, bits int, err error) {
	n := min(len(message), counterBytes)
	for i, b := range message[:n] {
		counter |= uint64(b) << (8 * i)
	}
	for i := n; i < len(message); i++ {
		if message[i] != shortByte(counter, i) {
			return 0, 0, fmt.Errorf("%w: byte %d is %02x, want %02x", ErrCorrupt, i, message[i], shortByte(counter, i))
		}
	}
	return counter, 8 * n, nil
}

// patternStarts is how many places in the block a pattern may begin at. A prime
// number: neighbouring messages of a page never share theirs.
const patternStarts = 251

// newBlock returns the random bytes that the patterns are pieces of, always the
// same for a seed.
func newBlock(most int) []byte {
	random := rand.New(rand.NewPCG(1, 0))
	b := make([]byte, (most+patternStarts+7)&^7)
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], random.Uint64())
	}
	return b
}
