// SPDX-License-Identifier: Apache-2.0

// Package jetstream keeps the log of a bridge in a stream of NATS JetStream.
//
//	log, err := jetstream.Open(ctx, jetstream.Config{URL: "nats://host1,nats://host2", Stream: "TAGBUS"})
//
// Each key has a subject of its own, so a reader can ask for some tags, and the stream knows the last record of
// each. The stream is made by its owner, who decides about its retention, replicas and disks:
//
//	nats stream add TAGBUS --subjects 'tagbus.*.*' --storage file --replicas 3 --retention limits
//
// # What JetStream promises
//
// A record is stored when the stream has acknowledged it: in memory or on the disk of each of a quorum of its
// replicas, as the stream and the server are configured (sync_interval).
//
// A record names the sequence of the one before it of its subject (Nats-Expected-Last-Subject-Sequence), and the
// stream refuses it if that is not the last one. So no record is there twice, however long ago it was appended
// first. It has a message id (Nats-Msg-Id), too, with which a stream answers a repetition within its window for
// duplicates as it has answered the first one.
//
// # Outages
//
// Nothing waits for a server that hangs for longer than Config.AckTimeout, and a connection to it is left for another one
// after three times that. A reader ends with an error when records did not come that the servers have sent, and when a server does
// not answer; it is begun again behind its last record. By itself it goes on there when the servers have forgotten its place in the
// stream, because it has taken records slowly, or because the server is gone that had it. A mirror can be read, and takes no records.
//
// The Part of an entry is when the stream was made: one that is deleted and made again has other records by the same numbers, and is
// refused behind a record of the one before. A mirror has the numbers of its source, and no name of its own for a Part.
package jetstream
