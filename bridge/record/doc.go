// SPDX-License-Identifier: Apache-2.0

// Package record writes and reads the records that a bridge keeps in a durable log: messages of
// one publisher and tag, and what is missing between them.
//
// # The chain
//
// The records of one publisher and one tag are a chain. Each covers the counters from First up to
// and without Next, and a record that is not the first begins where the one before ends:
//
//	begin 1 | messages 1..40 | messages 41..90 | lost 91..95 | messages 96..99 | end 100
//
// So a chain is whole if it has no lost record, and says so itself. Begin and End cover no counter.
// A reader passes over counters that it has seen, and Chain does that.
//
// # The format
//
// Numbers of a fixed size are little-endian. A uvarint is an unsigned number in base 128, lowest 7
// bits first, bit 7 of a byte set if another byte follows, at most 10 bytes. A varint is a signed
// number v as the uvarint 2v, or -2v-1 if it is negative. A text is a uvarint with its length, and so
// many bytes. Times are nanoseconds since 1970 in UTC, signed, 64 bits.
//
//	record
//	  4 bytes  8a 54 42 4c
//	  1 byte   version, 1: a reader refuses others
//	  1 byte   kind, a Kind: a reader refuses those that it does not know
//	  2 bytes  0
//	  4 bytes  checksum: the CRC-32C (Castagnoli) of all other bytes
//	  4 bytes  messages of a Messages record, at least 1; otherwise 0
//	  8 bytes  tag
//	  8 bytes  first counter, at least 1
//	  8 bytes  time
//	  publisher
//	    text     instance, not empty
//	    text     name
//	    text     host
//	    uvarint  process
//	    text     address: 4 or 16 bytes, for an IPv6 address the name of its zone, 2 bytes of
//	             port, as netip.AddrPort.MarshalBinary writes it; or empty
//	  body, by the kind
//
//	body of Messages: so many messages, of successive counters
//	  1 byte   flags; a reader refuses bits above these
//	  varint   bit 0: time, less that of the message before, or less the time of the record
//	  1 byte   bit 1: status, otherwise 0
//	  16 bytes bit 2: id of a request
//	  text     data
//	body of Begin
//	  nothing
//	body of Lost
//	  uvarint  counters that are covered, at least 1
//	  uvarint  causes; each:
//	    1 byte   cause, a Cause
//	    uvarint  counters
//	  text     for people
//	body of End
//	  1 byte   how, a How
//	  text     for people
//
// Nothing follows the body. No counter that is covered is above 2^63-1. The counters of all causes are
// at most those that are covered: the cause of the others is not known.
//
// testdata/records.hex has a record of each kind, byte by byte.
package record
