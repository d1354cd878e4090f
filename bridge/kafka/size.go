// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"errors"

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
