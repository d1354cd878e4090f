// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"fmt"

	"tagbus/bus/internal/coarseclock"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// StepsPerTag is the cost of making an entry for a tag, or of finding its targets, in
// steps of a workqueue.Job.
const StepsPerTag = 4

// Asked is what the publisher was asked for: a request.Book.
type Asked interface {
	Knows(lane uint16, tag tags.Tag) bool // it may send the tag in the lane
	Owes(lane uint16, tag tags.Tag) bool  // it has acknowledged that it sends it
	Wide(lane uint16) (cost int)          // of either
}

// Side is the user of an Intake: this side of the connection. No message that is
// delivered costs a call of it.
//
//   - T: a target of messages: where they are handed over.
//   - G: what the user keeps of each tag, to tell of gaps.
type Side[T, G any] interface {
	Aim(lane uint16, tag tags.Tag) []T                                   // the targets of a tag's messages
	Count(cause subscription.Cause, messages uint64, from, to uint32)    // messages are lost, between two seconds
	Gap(gap *G, tag tags.Tag, cause subscription.Cause, messages uint64) // the user is to be told of them
	Send(m subscription.Message)                                         // to the publisher
	Waits() bool                                                         // the publisher does not take what is sent; it is told again
	Report()                                                             // TellDropped is due soon
}

// Violation says how a publisher has broken the protocol.
type Violation string

// Error says it.
func (v Violation) Error() string { return string(v) }

func violation(format string, args ...any) error { return Violation(fmt.Sprintf(format, args...)) }

// Tag is what is known of one tag of a publisher in a lane. It does not move.
type Tag[T, G any] struct {
	Tally ledger.Tally // since the publisher was first met
	Gap   G

	version int // of the intake, for which targets holds
	targets []T
}

// Intake takes what arrives of one publisher, over all connections with it.
//
// Everything here runs on the loop.
type Intake[T, G any] struct {
	// Steps counts the work that the messages of the publisher have caused, for its user
	// to take off.
	Steps int

	// Reader is at the message that Next has found.
	Reader wire.Reader

	side    Side[T, G]
	asked   Asked
	clock   *coarseclock.Clock
	lanes   []*lane[T, G] // by the number of the lane
	version int           // changes when targets may have changed

	page page        // that is being delivered
	here *lane[T, G] // of the page; nil: it was not known when that began
	tag  *Tag[T, G]  // of the message that Next has found
	err  error       // that has ended Next

	told         map[laneTag]*ledger.Counts // totals of the publisher that came before their positions
	takesDropped bool                       // the publisher wants to hear what this side loses itself
	lostSum      uint64                     // messages that do not come, of all tags
	heard        uint32                     // second in which the last connection, which has ended, was heard last
	sums         Sums
}

// lane is what is known of one lane of a publisher.
type lane[T, G any] struct {
	tags     tagmap.Pruned[Tag[T, G]]
	got      ledger.Got // messages
	dropping ledger.Dropping
}

// laneTag names what is counted together.
type laneTag struct {
	lane uint16
	tag  tags.Tag
}

// Sums count what has come, and what has not.
type Sums struct {
	Messages, Bytes, Pages uint64        // delivered messages and all pages, on this connection
	Losses                 ledger.Counts // of the publisher
	Times                  ledger.Times  // of Losses
	Superseded             uint64        // messages that full queues with the policy Latest have left out
}

// New returns an Intake of a publisher of which nothing is known.
func New[T, G any](side Side[T, G], asked Asked, clock *coarseclock.Clock) Intake[T, G] {
	return Intake[T, G]{side: side, asked: asked, clock: clock, version: 1}
}

// Sums returns what has come and what has not.
func (in *Intake[T, G]) Sums() *Sums { return &in.sums }

// Changed notes that messages may have other targets from here on, those of the page that
// is being delivered, too.
func (in *Intake[T, G]) Changed() { in.version++ }

// Greeted begins a connection.
//
//   - takesDropped: the publisher is told what this side loses itself.
func (in *Intake[T, G]) Greeted(takesDropped bool) {
	in.takesDropped = takesDropped
	in.sums.Messages, in.sums.Bytes, in.sums.Pages = 0, 0, 0
}

// Disconnected ends a connection on which the publisher was greeted.
func (in *Intake[T, G]) Disconnected() {
	in.Changed()
	in.told = nil
	for _, n := range in.lanes {
		n.got.Disconnected()
		n.dropping.Disconnected()
	}
}

// Heard notes the second in which a connection that has ended was heard last.
func (in *Intake[T, G]) Heard(second uint32) { in.heard = second }

// lane returns the state of the lane with a number.
func (in *Intake[T, G]) lane(number uint16) *lane[T, G] {
	for int(number) >= len(in.lanes) {
		in.lanes = append(in.lanes, new(lane[T, G]))
	}
	return in.lanes[number]
}

// Lanes returns how many lanes are known.
func (in *Intake[T, G]) Lanes() int { return len(in.lanes) }

// Known returns the tags of a lane, of which something has come or is known to be lost, or
// the position. Only the Intake changes them.
func (in *Intake[T, G]) Known(lane int) *tagmap.Pruned[Tag[T, G]] { return &in.lanes[lane].tags }

// tagOf returns the state of a tag in a lane, and creates it at the first mention.
//
// Errors: a Violation if it was not asked for there: a publisher must not make a
// subscriber remember any number of tags.
func (in *Intake[T, G]) tagOf(lane uint16, tag tags.Tag) (*Tag[T, G], error) {
	if int(lane) < len(in.lanes) {
		if t := in.lanes[lane].tags.Get(tag); t != nil {
			return t, nil
		}
	}
	in.Steps += StepsPerTag + in.asked.Wide(lane)
	if in.asked.Knows(lane, tag) {
		return in.lane(lane).tags.Add(tag, func(*Tag[T, G]) {}), nil
	}
	return nil, violation("tag %v was not asked for in lane %d", tag, lane)
}

// remembered returns the state of a tag, a new one if it is forgotten meanwhile: what
// becomes of its messages is still counted in the sums and told.
func (in *Intake[T, G]) remembered(lane uint16, tag tags.Tag) *Tag[T, G] {
	if t := in.lane(lane).tags.Get(tag); t != nil {
		return t
	}
	return new(Tag[T, G])
}
