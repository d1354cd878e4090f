// SPDX-License-Identifier: Apache-2.0

// Package check decides whether promises were kept, by what a publisher and a subscriber have written
// down. It counts by numbers in the payloads, and takes none from the bus except what the bus has told.
package check

import (
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"
)

// A payload is: stream, tag, counter, 8 bytes each, then a checksum of 4 bytes over all else, then bytes
// that follow from the counter.
const headerBytes = 28

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// StreamOf returns the number of the streams of an instance.
func StreamOf(instance string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(instance)) // it returns no error
	return h.Sum64()
}

// AppendMessage appends the payload of a message of n bytes, or of the least size if that is more.
func AppendMessage(to []byte, stream, tag, counter uint64, n int) []byte {
	at := len(to)
	to = binary.LittleEndian.AppendUint64(to, stream)
	to = binary.LittleEndian.AppendUint64(to, tag)
	to = binary.LittleEndian.AppendUint64(to, counter)
	to = append(to, 0, 0, 0, 0)
	for i := headerBytes; i < n; i++ {
		to = append(to, byte(counter>>(i%5)))
	}
	binary.LittleEndian.PutUint32(to[at+24:], sum(to[at:]))
	return to
}

func sum(payload []byte) uint32 {
	crc := crc32.Update(0, castagnoli, payload[:24])
	return crc32.Update(crc, castagnoli, payload[headerBytes:])
}

// message is a payload that was read.
type message struct{ stream, tag, counter uint64 }

// parse reads a payload, and reports whether its checksum holds.
func parse(payload []byte) (m message, ok bool) {
	if len(payload) < headerBytes || binary.LittleEndian.Uint32(payload[24:]) != sum(payload) {
		return message{}, false
	}
	return message{
		binary.LittleEndian.Uint64(payload),
		binary.LittleEndian.Uint64(payload[8:]),
		binary.LittleEndian.Uint64(payload[16:]),
	}, true
}
