// SPDX-License-Identifier: Apache-2.0

// Package wire writes and reads pages. Pages and control messages are all that crosses
// the network between a publisher and a subscriber.
//
// A page is a header and one or more messages. Numbers are little-endian.
//
//	page header, 8 bytes
//	  1 byte   0x01, Kind
//	  1 byte   flags: bit 0: messages carry their positions; bit 1: an Ack is wanted
//	  2 bytes  lane
//	  4 bytes  number of messages, at least 1
//	per message
//	  4 bytes  bit 31: a tag follows; bit 30: a status follows; bits 29..0: size
//	  1 byte   status, if bit 30 is set; 0: the payload begins with the id of a request
//	  8 bytes  tag, if bit 31 is set; otherwise the tag of the message before
//	  8 bytes  position, if the page says so
//	  size     payload
//	the payload of a request, and of a reply to one
//	  1 byte   status
//	  16 bytes id, not all zeros
//	  rest     what the user sees as the payload
//
// The first message of a page has a tag. Another has one only if its tag is not that of
// the message before. So the same messages always make the same page.
//
// A message is plain if it takes nothing in the page except its size and its payload.
// Most are, and both ends have a shorter way for them.
//
// The format is part of the wire protocol (docs/protocol.md) and does not change.
//
// Source: the coalesced buffer of netio3, with a header in front.
package wire
