// SPDX-License-Identifier: Apache-2.0

// Package ledger counts what was lost, alike at both ends of a connection.
//
// Only the subscriber knows the losses of a lost connection, and only the publisher
// knows the messages left out on purpose. So each end counts the losses that it knows,
// by tag and cause. At each acknowledgement of a subscription they compare. The
// publisher sends its totals. The subscriber takes over the losses that it does not
// know yet, finds the still missing messages from the positions, and answers with
// these. From then on both have the same counts.
//
//   - Counts are messages by cause.
//   - A Notice has losses on their way to the subscriber, at one place among the pages.
//   - A Lane is the publisher's account of one lane of a subscriber, and a Book has
//     those of all its subscribers, beyond their connections.
package ledger

import "tagbus/subscription"

// Counts counts messages by cause. Those from Queue on are of messages that the subscriber
// has received: no position tells of them, and only a Dropped does.
type Counts [subscription.AllCauses]uint64

const (
	// Ended is the cause of losses that only the publisher's end has shown.
	Ended subscription.Cause = 0

	// Queue is the cause of losses of a subscription's own queue, after the messages
	// were received.
	Queue = subscription.CauseOverflow

	// Panic is the cause of losses of a handler that has panicked.
	Panic = subscription.CausePanic
)

// Missing returns the messages that were not received.
func (c *Counts) Missing() (n uint64) {
	for _, of := range c[:subscription.Causes] {
		n += of
	}
	return n
}

// Add adds other.
func (c *Counts) Add(other *Counts) {
	for cause, n := range other {
		c[cause] += n
	}
}

// Sum returns the messages of all causes.
func (c *Counts) Sum() (n uint64) {
	for _, of := range c {
		n += of
	}
	return n
}

// Times are the seconds in which messages were counted first and last, by cause; zero: never.
type Times [subscription.AllCauses]struct{ First, Last uint32 }

// Note notes that messages were counted in a second.
func (t *Times) Note(cause subscription.Cause, now uint32) { t.Span(cause, now, now) }

// Span notes that messages were lost from one second to another.
//
//   - from: 0: not known; in the second to.
func (t *Times) Span(cause subscription.Cause, from, to uint32) {
	if from == 0 {
		from = to
	}
	if first := t[cause].First; first == 0 || from < first {
		t[cause].First = from
	}
	t[cause].Last = max(t[cause].Last, to)
}

// Add adds other.
func (t *Times) Add(other *Times) {
	for cause, of := range other {
		if first := t[cause].First; of.First != 0 && (first == 0 || of.First < first) {
			t[cause].First = of.First
		}
		t[cause].Last = max(t[cause].Last, of.Last)
	}
}
