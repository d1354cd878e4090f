// Package ledger counts what was lost, alike at both ends of a connection.
//
// Only the subscriber can know what a lost connection has cost, and only the publisher
// what it has left out on purpose. So each end counts what it knows of, by tag and
// cause, and at each acknowledgement of a subscription they compare: the publisher tells
// its totals, the subscriber takes over what it has not heard of, finds from the
// positions what is still missing, and answers with that. From then on both have the
// same counts.
//
//   - Counts are messages by cause.
//   - A Notice is what a page does not bring: losses on their way to the subscriber.
//   - A Lane is the publisher's account of one lane of a subscriber, and a Book has
//     those of all its subscribers, beyond their connections.
package ledger

import "tagbus/subscription"

// Counts counts messages by cause. Two causes are not on the wire: Ended and Queue.
type Counts [subscription.Causes + 1]uint64

const (
	// Ended is the cause of what only the publisher's end has shown.
	Ended subscription.Cause = 0

	// Queue is the cause of what a subscription's own queue has lost after it was
	// received.
	Queue = subscription.Causes
)

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
