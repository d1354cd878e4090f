// SPDX-License-Identifier: Apache-2.0

// Package subscription keeps which subscriber wants which tag: the control
// messages that a subscriber and a publisher exchange, and the [Table] in which a
// publisher keeps the answer.
//
// # A connection
//
// The subscriber dials. The first message of each side is a [Hello], the
// subscriber's first; it carries magic and version in its first eight bytes
// and is at most [MaxHelloBytes] long. Then the subscriber sends Subscribe and
// Unsubscribe, and the publisher answers Subscribed and Unsubscribed among the
// pages, at the exact place where they take effect:
//
//	subscriber                         publisher
//	Hello                 ─────────►
//	                      ◄─────────   Hello   (or Refused, and the end)
//	Subscribe 1 {tags}    ─────────►
//	                      ◄─────────   Positions 1 {tag: count, ...}
//	                      ◄─────────   Subscribed 1
//	                      ◄─────────   page, page, page ...
//	Unsubscribe 1         ─────────►
//	                      ◄─────────   page (already on its way)
//	                      ◄─────────   Unsubscribed 1
//	                      ◄─────────   Goodbye {final positions}
//
// A side that has nothing to send for the interval that its hello names sends a
// [Beat], so that the other can tell silence from death.
//
// A publisher that dials, which package bus calls a sender, says hello first and
// the subscriber answers; all else is the same. Acks go from the subscriber to
// the publisher and answer pages that ask for one.
//
// From Subscribed on, every message of a wanted tag that comes after the tag's
// position is delivered or reported lost.
//
// # Encoding
//
// A control message is one [Kind] byte and a msgpack map with the fields of
// the message's Go type under their msgpack names, in any order; one marked
// omitempty may be missing. Unknown, repeated and missing fields, other types
// than the field's, nil, trailing bytes and oversized text are refused, so that
// a message means the same to all sides. Large sets and position lists are
// split over several messages of at most [MaxControlBytes].
package subscription
