// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/binary"

	"tagbus/bridge/durable"
	"tagbus/tags"
)

// Parts of the key of a record.
const (
	tagBytes         = 8   // what stands before the instance
	maxInstanceBytes = 512 // which a bus bounds more closely: a key is kept in memory, and has room in overheadBytes
)

// appendKey appends the key of a record: the tag, 8 bytes in big-endian order, and the bytes of the instance.
func appendKey(b []byte, key durable.Key) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(key.Tag))
	return append(b, key.Instance...)
}

// parseKey undoes appendKey.
func parseKey(b []byte) (key durable.Key, ok bool) {
	if len(b) <= tagBytes || len(b) > tagBytes+maxInstanceBytes {
		return key, false
	}
	return durable.Key{Tag: tags.Tag(binary.BigEndian.Uint64(b)), Instance: string(b[tagBytes:])}, true
}

// Positions: the partition stands above partitionShift, and below it the offset and 1. So they grow along each key,
// of which all records are in one partition, and with one partition they are the offsets and 1.
const partitionShift = 48

// maxPartitions is how many partitions a Position can tell apart.
const maxPartitions = 1 << (64 - partitionShift)

// topicShift is where the number of a topic stands, if a log has several, and leaves room for fewer partitions of each.
const topicShift = 58

// maxTopics is how many topics a log may have.
const maxTopics = 1 << (64 - topicShift)

// position returns the Position of a record.
func position(partition int32, offset int64) durable.Position {
	return durable.Position(partition)<<partitionShift | durable.Position(offset+1)
}

// position returns the Position of a record of this topic.
func (l *Log) position(partition int32, offset int64) durable.Position {
	return durable.Position(l.number)<<topicShift | position(partition, offset)
}

// maxPartitions is how many partitions a Position can tell apart in this topic.
func (l *Log) maxPartitions() int {
	if l.several != nil {
		return 1 << (topicShift - partitionShift)
	}
	return maxPartitions
}

// placeOf undoes position. The offset of Position 0 is -1.
func placeOf(at durable.Position) (partition int32, offset int64) {
	return int32(at >> partitionShift), int64(at&(1<<partitionShift-1)) - 1
}
