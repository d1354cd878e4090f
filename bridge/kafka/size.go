// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Sizes of an answer with records. A first batch that is larger comes all the same.
const (
	fetchBytes = 32 << 20 // of all partitions
	spanBytes  = 4 << 20  // of a partition that is read on
	leastSpan  = 64 << 10 // of one of very many
	someBytes  = 256 << 10
	oneByte    = 1 // of which one batch is wanted
)

// spanOf returns the size of an answer for each of some partitions: those of all are in memory at once.
func spanOf(partitions int) int32 {
	return int32(min(max(fetchBytes/partitions, leastSpan), spanBytes))
}

// unpacked is how many times as large an answer may become whose batches are compressed, besides one of them.
const unpacked = 8

// errUnpacked ends the reading of an answer that has become large. What follows is fetched again.
var errUnpacked = errors.New("bridge/kafka: an answer has more than it may have in memory")

// unpacker decompresses the batches of an answer, up to a size of all.
type unpacker struct {
	kgo.Decompressor

	left int64
}

// Decompress implements kgo.Decompressor.
func (u *unpacker) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if u.left <= 0 {
		return nil, errUnpacked
	}
	b, err := u.Decompressor.Decompress(src, codec)
	u.left -= int64(len(b))
	return b, err
}

// batchBytes is how much a batch may have that the brokers keep compressed, as their owner may set a topic. One of a bridge has
// mostRecord at most.
const batchBytes = 2 * mostRecord

// mostBatch is how many records a batch may have; those of a bridge have fewer, as it never has more on their way.
const mostBatch = 1 << 17

// recordBytes is about what a record takes in memory besides its bytes, which may be ten.
const recordBytes = 200

// Places in a batch: of its length, which does not count what is before it and itself, of its format, and of its number
// of records. Older formats have another head, and no number.
const (
	lengthAt, formatAt, countAt, headBytes = 8, 16, 57, 61

	format = 2
)

// spare returns the first batches of an answer, of which the records take so many bytes at most, or the first one alone, and
// how many records the first one has: more than mostBatch are not to be read. It has an eye on nothing else.
func spare(batches []byte, bytes int64) (some []byte, first int) {
	for at := 0; at+headBytes <= len(batches); {
		batch := batches[at:]
		size := lengthAt + 4 + int64(binary.BigEndian.Uint32(batch[lengthAt:]))
		if size > int64(len(batch)) { // the last one, which is cut
			break
		}
		if batch[formatAt] == format {
			count := int64(binary.BigEndian.Uint32(batch[countAt:]))
			bytes -= recordBytes * count
			switch {
			case at == 0:
				first = int(min(count, math.MaxInt32))
			case bytes < 0 || count > mostBatch:
				return batches[:at], first
			}
		}
		at += int(size)
	}
	return batches, first
}
