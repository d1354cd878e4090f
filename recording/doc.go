// SPDX-License-Identifier: Apache-2.0

// Package recording writes and reads recordings: files with the messages of a bus, and with
// what was lost of them. So Verify finds out from a recording alone if it is whole.
//
// Reading, by tag and time:
//
//	r, err := recording.Open("run.tbr")
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	for m, err := range r.Messages(recording.Query{Tags: tags.Of(0x1000), From: begin}) {
//		if err != nil {
//			return err
//		}
//		handler(m.Message) // a bus.Handler, as a subscription has it
//	}
//
// Writing is Writer, or for a recorder that must not wait for the disk a Builder and a
// BlockWriter.
//
// # Words
//
// A recording is one file or several, its parts. A part is a sequence of blocks, a block a
// sequence of records. A record is a message or an event. The messages of one tag from one
// publisher are a series.
//
// # The format
//
// Numbers of a fixed size are little-endian. A uvarint is an unsigned number in base 128,
// lowest 7 bits first, bit 7 of a byte set if another byte follows, at most 10 bytes. A
// varint is a signed number v as the uvarint 2v, or -2v-1 if it is negative; differences
// are modulo 2^64. A text is a uvarint with its length, and so many bytes. Times are
// nanoseconds since 1970 in UTC, signed, 64 bits. A checksum is a CRC-32C (Castagnoli).
// Bytes that are zero here are written as zero, and not looked at.
//
//	file
//	  file header
//	  blocks
//	  8 bytes   54 42 52 63 75 74 0d 0a, if the writer was not closed and the index is repaired
//	  index     \ missing if the writer was not closed
//	  footer    /
//
//	file header
//	  8 bytes  8a 54 42 52 0d 0a 1a 0a
//	  1 byte   major version, 1: a reader refuses others
//	  1 byte   minor version, 0: a reader ignores it
//	  2 bytes  0
//	  16 bytes id of the recording, the same in all parts
//	  4 bytes  number of the part, from 0
//	  4 bytes  size of the fields, at most 16 MiB
//	  4 bytes  checksum of the fields
//	  4 bytes  checksum of the 40 bytes before
//	  fields   each at most once, in any order
//	    uvarint  kind
//	    text     content; a reader passes over kinds that it does not know
//	      1  time of creation of the part, 8 bytes
//	      2  host of the recorder
//	      3  name of the recorder
//	      4  version of the recorder's program, for people
//	      5  tags that were asked for: the binary form of a tags.Set
//	      6  policy that was asked for: the text form of a bus.Policy
//
// The seed of a part is the checksum of its id and part number, 20 bytes. The checksums
// that are marked "from the seed" go on from it. So a block that lies in the data of a
// message, or was left on a disk by another recording, is not taken for one of this part.
//
//	block
//	  4 bytes  54 42 52 62
//	  4 bytes  checksum of the 56 bytes behind it, from the seed
//	  4 bytes  checksum of the table
//	  4 bytes  checksum of the body, as it is stored
//	  4 bytes  size of the table
//	  4 bytes  size of the body, as it is stored
//	  4 bytes  size of the body, decompressed
//	  1 byte   codec: 0: none; 1: an S2 block; 2: a Zstandard frame
//	  3 bytes  0
//	  4 bytes  messages
//	  4 bytes  events
//	  4 bytes  number of the block in the part, from 0
//	  4 bytes  0
//	  8 bytes  smallest time of a record
//	  8 bytes  largest time of a record
//	  table    never compressed
//	  body     the records, compressed by the codec
//
//	table
//	  uvarint  publishers; each:
//	    text     instance
//	    text     name
//	    text     host
//	    varint   process
//	    text     address: 4 or 16 bytes, for an IPv6 address the name of its zone, 2 bytes of
//	             port, as netip.AddrPort.MarshalBinary writes it; or empty
//	  uvarint  series; each:
//	    uvarint  publisher: its place in the table, from 0
//	    varint   tag, less the tag of the series before, or less 0
//	    uvarint  counter of the first message
//	    uvarint  messages
//	    uvarint  bytes of data
//
// All that is empty in a publisher means that there is none. Bytes behind the series are
// not looked at. A writer adds some where a body is compressed very well, since readers bound
// what a block may become (ReaderConfig.MaxExpansion).
//
// A record begins with a uvarint. Its lowest bits are the kind, and the rest is what the
// table calls n here:
//
//	record
//	  bit 0 is 0, n the rest: a plain message of series n
//	  bits 1, 0 are 01, n the rest: a message of series n with flags
//	  bits 1, 0 are 11, n the rest: an event of kind n
//
//	plain message
//	  text     data
//	  The time is that of the record before, the counter the next of its series, the status 0.
//	message with flags
//	  1 byte   flags; a reader refuses bits above these
//	  varint   bit 0: time, less that of the record before, or less 0 at the first
//	  varint   bit 1: counter, less the next of its series
//	  1 byte   bit 2: status, otherwise 0
//	  16 bytes bit 3: id of a request
//	  text     data
//	event
//	  uvarint  size of what follows
//	  varint   time, less that of the record before, or less 0 at the first
//	  1 byte   flags
//	  uvarint  bit 0: publisher, its place in the table
//	  8 bytes  bit 1: tag
//	  uvarint  bit 2: count; of a stepped clock how far it was set, as a signed number in 64 bits
//	  1 byte   bit 3: cause, a Cause
//	           bit 4: failed
//	  text     bit 5: text
//	  text     bit 6: tags, the binary form of a tags.Set
//
// The counter that is next in a series at its first message in a block is the one in the
// table. Kinds of events are those of EventKind. A reader passes over kinds that it does not
// know, and does not look at bytes behind the known ones of an event.
//
//	index
//	  4 bytes  54 42 52 69
//	  4 bytes  checksum of the rest of the index, from the seed
//	  8 bytes  blocks; each:
//	    8 bytes  offset in the file
//	    8 bytes  smallest time of a record
//	    8 bytes  largest time of a record
//	    4 bytes  messages
//	    4 bytes  events
//
//	footer
//	  4 bytes  checksum of the 44 bytes behind it, from the seed
//	  1 byte   bit 0: another part follows; bit 1: the index is repaired, bit 2: and all blocks are there
//	  3 bytes  0
//	  8 bytes  offset of the index
//	  8 bytes  blocks
//	  8 bytes  messages
//	  8 bytes  events
//	  8 bytes  54 42 52 65 6e 64 0d 0a
//
// testdata/none.hex is a recording with each kind of record, byte by byte.
//
// # Recovery
//
// A file whose writer was killed has no index. A reader goes from block header to block
// header: each has its size and a checksum of its own. It stops at the block that is not
// complete. Blocks at the end with a wrong checksum are left out too. Where no header is,
// it searches for the next one. So a file that was cut off anywhere opens, and has every
// block that is complete.
//
// An index directly behind the last block, or a part of it, says that the writer has closed the
// file. One that is repaired, of a file that was not closed, therefore has 8 bytes in front of it.
package recording
