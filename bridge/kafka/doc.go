// SPDX-License-Identifier: Apache-2.0

// Package kafka keeps the log of a bridge in a topic of Kafka, or of another broker that speaks its protocol.
//
//	log, err := kafka.Open(ctx, kafka.Config{Brokers: "host1,host2", Topic: "tagbus"})
//
// The topic is made by its owner, and so is a small one beside it with an index:
//
//	kafka-topics.sh --bootstrap-server HOST:9092 --create --topic tagbus --partitions 1 --replication-factor 3 \
//	  --config cleanup.policy=delete --config min.insync.replicas=2 --config retention.ms=604800000
//	kafka-topics.sh --bootstrap-server HOST:9092 --create --topic tagbus.index --partitions 1 --replication-factor 3 \
//	  --config cleanup.policy=compact --config min.insync.replicas=2 --config segment.bytes=67108864
//
// # Appending
//
// Kafka appends under no condition, so one writer appends and checks what a record names as the one before it. The first
// Append makes a Log the writer: it takes the transactional id of the topic, with which the brokers refuse all that the
// writer before sends from then on, and abort what that one has not committed. Then it reads what the topic has, and
// knows the last record of each key. Records that are appended meanwhile share a transaction, one of a key, and are
// stored when it is committed (acks=all).
//
// After any error the writer begins again in the same way before it appends more, so a transaction of unknown outcome
// is there or not by then. A writer that begins again and finds that another bridge has begun ends with a *TakenError.
//
// # Records
//
// The key of a record is the tag, 8 bytes in big-endian order, and behind it the 1 to 512 bytes of the publisher's instance. The
// value is that of package record. There are no headers. All records of a key are in one partition: that of its last record, or for
// a first one that which producers of Kafka choose for the key by default (murmur2). The time is that of the producer, or of
// the broker with message.timestamp.type=LogAppendTime.
//
// A Position is the partition times 2^48, and the offset and 1. With one partition it is the offset and 1.
//
// # Topics by a pattern
//
// With a Topic such as tagbus-{tag>>48} the records of a tag are in the topic that it gives, tagbus-0012 for the tags from
// 0x12000000000000 on, and each topic has an index, a transactional id and a writer as above. Topics are 64 at most, and have 1024
// partitions each at most. A Position has a number of the topic above 2^58, which is another one in another Log.
//
// # Index
//
// The index topic has the last record of each key up to some offsets, so that a start reads it and what was appended since.
// It is written in the transactions of records, each time that Config.CheckpointBytes were appended, and 4 times as much as goes
// to the index. Numbers are varints as in encoding/binary, without a sign where it does not say otherwise.
//
//	key 00:             a state, of which the last one counts
//	  1 byte            version: 1
//	  16 bytes          id of the topic
//	  8 bytes           session of the writer, random
//	  varint, signed    when it began, in milliseconds
//	  varint, bytes     length and text: the writer
//	  varint, bytes     length and text: its transactional id
//	  varint, varints   number of partitions, and for each the first offset that is not in the index
//	key 01, tag, instance: a place
//	  1 byte            version: 1
//	  16 bytes          id of the topic
//	  varint            partition
//	  varint            offset
//	  varint, signed    when it was stored, in milliseconds
//	  1 byte            1: the record follows, which has 512 bytes at most; 0: it does not
//
// A place without a value means that there is no record of the key any more. What names another topic id counts for nothing.
package kafka
