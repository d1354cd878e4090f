// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// Kind says what a record is. The numbers are those of the format.
type Kind uint8

const (
	// Messages are one message or several of successive counters.
	Messages Kind = iota + 1

	// Lost means that the counters that it covers are missing in the log.
	Lost

	// Begin means that the chain begins with First: messages before it are not part of the log.
	Begin

	// End means that no message follows as far as the bridge knows; Record.How says why.
	End
)

var kindNames = [...]string{Messages: "messages", Lost: "lost", Begin: "begin", End: "end"}

// String returns the kind's name.
func (k Kind) String() string { return nameOf(kindNames[:], uint8(k), "kind") }

// How says why a chain ends. The numbers are those of the format.
type How uint8

const (
	// Goodbye means that the publisher has ended in order: all that it published is covered.
	Goodbye How = iota + 1

	// Failed is Goodbye of a publisher that has ended because something failed there.
	Failed

	// Vanished means that the publisher is gone without goodbye. How many of its last messages
	// are missing is unknown.
	Vanished

	// Away means that the publisher has gone while no bridge ran. How many of its last messages
	// are missing is unknown.
	Away

	// Stopped means that the bridge has ended in order. The publisher may go on: the next
	// bridge continues the chain.
	Stopped
)

var howNames = [...]string{Goodbye: "goodbye", Failed: "failed", Vanished: "vanished", Away: "away", Stopped: "stopped"}

// String returns the name.
func (h How) String() string { return nameOf(howNames[:], uint8(h), "end") }

// Cause is why counters are missing. The numbers are those of the format; those up to 15 are the causes
// of package recording.
type Cause uint8

// The causes. The errors are those of the bus that they stand for.
const (
	CauseOther      Cause = 0  // Record.Text says what
	CauseFull       Cause = 1  // bus.ErrTooSlow
	CauseMemory     Cause = 2  // bus.ErrPublisherMemory
	CauseConnection Cause = 3  // bus.ErrConnectionLost
	CauseEnded      Cause = 4  // bus.ErrPublisherEnded
	CauseLeftOut    Cause = 5  // bus.ErrLeftOut: by the policy, on purpose
	CauseQueueFull  Cause = 6  // bus.ErrQueueFull: of the bridge's own subscription
	CauseAway       Cause = 16 // no bridge ran, or none that could write
	CauseTooLarge   Cause = 17 // a message is larger than the log takes
	CauseSpool      Cause = 18 // the spool of the bridge had it, and cannot be read
)

var causeNames = [...]string{
	CauseOther: "other", CauseFull: "full", CauseMemory: "memory", CauseConnection: "connection", CauseEnded: "ended",
	CauseLeftOut: "left-out", CauseQueueFull: "queue-full", CauseAway: "away", CauseTooLarge: "too-large",
	CauseSpool: "spool",
}

// String returns the cause's name.
func (c Cause) String() string { return nameOf(causeNames[:], uint8(c), "cause") }

// nameOf returns one of names, or for another number what it is of.
func nameOf(names []string, n uint8, of string) string {
	if int(n) < len(names) && names[n] != "" {
		return names[n]
	}
	return fmt.Sprintf("%s %d", of, n)
}

// Share is how many of the lost counters have a cause.
type Share struct {
	Cause Cause
	Count uint64
}

// Record is one record of a chain. Fields that the kind does not name are zero.
type Record struct {
	Kind  Kind
	Peer  *bus.Peer // the publisher, as its connection to the bridge showed it
	Tag   tags.Tag
	First uint64
	Count uint64    // Messages, Lost: how many counters are covered
	Time  time.Time // Messages: when the first was received; otherwise when the bridge learned of it

	Causes []Share // Lost
	How    How     // End
	Text   string  // Lost, End: for people

	body []byte // Messages
}

// Next returns the counter at which the next record of the chain begins.
func (r *Record) Next() uint64 { return r.First + r.Count }

// String returns the record as a line for people, without data.
func (r *Record) String() string { return line(r) }
