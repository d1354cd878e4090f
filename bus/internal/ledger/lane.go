// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"sync"
	"sync/atomic"

	"tagbus/bus/internal/coarseclock"
	"tagbus/subscription"
	"tagbus/tags"
)

// Lane is the account of one lane of a subscriber, over all its connections.
//
// Threads: any.
type Lane struct {
	// These do not change.
	Policy subscription.Policy
	ID     uint64             // its number among all lanes of a book, in the order in which they began
	clock  *coarseclock.Clock // nil: that of the system

	mu          sync.Mutex // nothing else is locked while it is held
	byTag       map[tags.Tag]*Counts
	entries     *atomic.Int64 // of the book; nil when it has forgotten the lane
	total       Counts
	times       Times  // of total
	sent        uint64 // messages that have arrived, on connections that have ended
	received    uint64 // messages, as the subscriber counts them, until then
	unconfirmed uint64 // messages of connections that have ended, until the subscriber reports which it received
	heard       uint32 // second in which the subscriber was heard last, on those; 0: not known
	dropped     [subscription.AllCauses - Queue]dropped
}

// Add counts lost messages. Those that were lost with a connection were lost between the
// end of that and now.
func (a *Lane) Add(cause subscription.Cause, tag tags.Tag, messages uint64) {
	if messages == 0 {
		return
	}
	from, now := uint32(0), a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if cause == subscription.CauseConnection {
		from = a.heard
	}
	a.counts(tag)[cause] += messages
	a.total[cause] += messages
	a.times.Span(cause, from, now)
}

// counts returns those of a tag, which it makes if there are none. mu is held.
func (a *Lane) counts(tag tags.Tag) *Counts {
	counts := a.byTag[tag]
	if counts == nil {
		counts = new(Counts)
		a.byTag[tag] = counts
		if a.entries != nil {
			a.entries.Add(1)
		}
	}
	return counts
}

// forget takes the lane out of the entries of its book.
func (a *Lane) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.entries.Add(int64(-laneEntries - len(a.byTag)))
	a.entries = nil
}

// AddTotals adds the counts of a tag to a notice, for the subscriber to compare.
func (a *Lane) AddTotals(to *Notice, tag tags.Tag) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if counts := a.byTag[tag]; counts != nil {
		to.addAll(tag, counts)
	}
}

// Lost returns how many messages of a tag are lost or left out on the way.
func (a *Lane) Lost(tag tags.Tag) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if counts := a.byTag[tag]; counts != nil {
		return counts.Missing()
	}
	return 0
}

// AddLost adds the counts of a tag to a sum.
func (a *Lane) AddLost(tag tags.Tag, to *Counts) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if counts := a.byTag[tag]; counts != nil {
		to.Add(counts)
	}
}

// atOnce is how many tags Each reads before other goroutines may count.
const atOnce = 1024

// Each calls f with the counts of each tag, in no order. Other goroutines may count in
// between.
func (a *Lane) Each(f func(tags.Tag, *Counts)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := 0
	for tag, counts := range a.byTag {
		f(tag, counts)
		if seen++; seen%atOnce == 0 {
			a.mu.Unlock()
			a.mu.Lock()
		}
	}
}

// Sums are the messages of a lane.
type Sums struct {
	Lost        Counts
	Times       Times  // of Lost
	Sent        uint64 // have arrived, on connections that have ended
	Unconfirmed uint64 // of connections that have ended: not known yet
}

// Sums returns the sums over all tags.
func (a *Lane) Sums() Sums {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Sums{a.total, a.times, a.sent, a.unconfirmed}
}

// Left counts the messages of a lane at the end of a connection.
type Left struct {
	Sent     uint64 // the transport has sent them
	Dropped  uint64 // they were queued or given to the transport, and are gone
	Received uint64 // the subscriber has said, on this connection, that it has them

	// Owed: the subscriber had not unsubscribed. Otherwise the messages on their way
	// count as received.
	Owed bool

	Heard uint32 // second in which it was heard last; 0: not known
}

// End takes over the counts of a connection that ends, and returns the number of
// unconfirmed messages.
func (a *Lane) End(left Left) (unconfirmed uint64) {
	received := left.Received
	if left.Owed {
		unconfirmed = left.Sent + left.Dropped - received
	} else {
		received = max(received, left.Sent)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent += received
	a.received += received
	a.unconfirmed += unconfirmed
	a.heard = left.Heard
	return unconfirmed
}

// Settle takes over how many of the unconfirmed messages a returning subscriber has
// received. It has reported the others as missed, or gets them again.
//
//   - received: messages in total, since it first met the publisher.
func (a *Lane) Settle(received uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if received >= a.received { // otherwise it does not remember, and the rest stays unknown
		a.sent += min(received-a.received, a.unconfirmed)
		a.unconfirmed = 0
	}
	a.received = received
}
