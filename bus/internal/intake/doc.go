// SPDX-License-Identifier: Apache-2.0

// Package intake takes what arrives of one publisher, until a message is handed to the
// user: the mirror image of package fanout.
//
// It finds the messages in a page, and their targets; it counts what came, what was
// unwanted and what is lost, by lane and tag; and it tells the publisher what that cannot
// know. The package knows tags, pages and control messages. What a target is belongs to its
// user, who makes messages and calls handlers, and so do sessions and their ends.
//
// # The way of a message
//
//	page                 as the transport has read it
//	  |  Open
//	  v
//	wire.Reader          Next: one message, or a run of plain ones behind it
//	  |
//	  v
//	Tag                  of a lane: its Tally counts the message
//	  |  Side.Aim, when something has changed since the last message of the tag
//	  v
//	Targets              the user hands the message over
//	  |  End
//	  v
//	counts of the page   into those of the lane; Ack, if the page asks
//
// The user pulls: nothing here calls it for a message. So it can make a message where it
// hands it over, without a copy, and read a run of plain messages in a loop of its own, in
// which Same and Delivered are inlined.
//
// # Losses
//
// What a publisher has published of a tag is its position. Positions and Goodbye say it,
// when the tag becomes active and at the end, and a page says it of each message when its
// policy leaves some out. Whatever is missing up to a position is lost, unless no
// subscription wanted it. Lost names what the publisher has lost, with the cause. Drop
// counts what came and was lost here. Side.Count and Side.Gap tell the user of all of that.
//
// In the other direction Missed says what the publisher has not counted, Received how many
// messages came, and Dropped how many of these were lost here.
//
// A publisher is not trusted: a tag that was not asked for, a position that goes back, or
// more losses than there can be are a Violation.
package intake
