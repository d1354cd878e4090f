// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"encoding/binary"
	"hash/crc32"

	"tagbus/recording"
)

// What follows writes the format without the package, so that tests can write what it does
// not: newer versions, and lies with right checksums.

var le = binary.LittleEndian

func crc(from uint32, b []byte) uint32 {
	return crc32.Update(from, crc32.MakeTable(crc32.Castagnoli), b)
}

// rawHeader returns a file header, and the seed of its part.
func rawHeader(minor byte, id recording.ID, part uint32, fields []byte) (b []byte, seed uint32) {
	b = append([]byte("\x8aTBR\r\n\x1a\n"), 1, minor, 0, 0)
	b = append(b, id[:]...)
	b = le.AppendUint32(b, part)
	seed = crc(0, b[12:32])
	b = le.AppendUint32(b, uint32(len(fields)))
	b = le.AppendUint32(b, crc(0, fields))
	b = le.AppendUint32(b, crc(0, b))
	return append(b, fields...), seed
}

// rawBlock is a block before it becomes bytes.
type rawBlock struct {
	table, body      []byte
	decoded          int // 0: that of body
	codec            byte
	messages, events uint32
	number           uint32
	first, last      int64
}

// append appends the bytes, with right checksums.
func (r rawBlock) append(b []byte, seed uint32) []byte {
	if r.decoded == 0 {
		r.decoded = len(r.body)
	}
	h := le.AppendUint32(nil, crc(0, r.table))
	h = le.AppendUint32(h, crc(0, r.body))
	h = le.AppendUint32(h, uint32(len(r.table)))
	h = le.AppendUint32(h, uint32(len(r.body)))
	h = le.AppendUint32(h, uint32(r.decoded))
	h = append(h, r.codec, 0, 0, 0)
	h = le.AppendUint32(h, r.messages)
	h = le.AppendUint32(h, r.events)
	h = le.AppendUint32(h, r.number)
	h = append(h, 0, 0, 0, 0)
	h = le.AppendUint64(h, uint64(r.first))
	h = le.AppendUint64(h, uint64(r.last))
	b = append(b, "TBRb"...)
	b = le.AppendUint32(b, crc(seed, h))
	b = append(b, h...)
	return append(append(b, r.table...), r.body...)
}

// rawEnd appends index and footer for blocks at offsets.
func rawEnd(b []byte, seed uint32, flags byte, blocks []rawBlock, offsets []int) []byte {
	at := len(b)
	index := le.AppendUint64(nil, uint64(len(blocks)))
	messages, events := uint64(0), uint64(0)
	for i, r := range blocks {
		index = le.AppendUint64(index, uint64(offsets[i]))
		index = le.AppendUint64(index, uint64(r.first))
		index = le.AppendUint64(index, uint64(r.last))
		index = le.AppendUint32(index, r.messages)
		index = le.AppendUint32(index, r.events)
		messages += uint64(r.messages)
		events += uint64(r.events)
	}
	b = append(b, "TBRi"...)
	b = le.AppendUint32(b, crc(seed, index))
	b = append(b, index...)
	foot := []byte{flags, 0, 0, 0}
	foot = le.AppendUint64(foot, uint64(at))
	foot = le.AppendUint64(foot, uint64(len(blocks)))
	foot = le.AppendUint64(foot, messages)
	foot = le.AppendUint64(foot, events)
	foot = append(foot, "TBRend\r\n"...)
	return append(le.AppendUint32(b, crc(seed, foot)), foot...)
}

// rawFile returns a closed file with blocks.
func rawFile(minor byte, fields []byte, blocks ...rawBlock) []byte {
	b, seed := rawHeader(minor, recording.ID{1}, 0, fields)
	var offsets []int
	for _, r := range blocks {
		offsets = append(offsets, len(b))
		b = r.append(b, seed)
	}
	return rawEnd(b, seed, 0, blocks, offsets)
}

func uvarints(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// rawPeer is the table's publisher "i", and nothing more of it.
var rawPeer = []byte{1, 'i', 0, 0, 0, 0}

// rawTable returns a table of that publisher and one series of it: tag 7, from counter 1.
func rawTable(messages, bytes uint64) []byte {
	t := append([]byte{1}, rawPeer...)
	return uvarints(append(t, 1, 0, 14, 1), messages, bytes)
}
