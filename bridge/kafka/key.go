// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/binary"

	"tagbus/tags"

	"tagbus/bridge/durable"
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

// position returns the Position of a record.
func position(partition int32, offset int64) durable.Position {
	return durable.Position(partition)<<partitionShift | durable.Position(offset+1)
}

// placeOf undoes position. The offset of Position 0 is -1.
func placeOf(at durable.Position) (partition int32, offset int64) {
	return int32(at >> partitionShift), int64(at&(1<<partitionShift-1)) - 1
}
