package ledger

import (
	"sync"

	"tagbus/subscription"
	"tagbus/tags"
)

// Lane is the account of one lane of a subscriber, over all its connections.
//
// Threads: any.
type Lane struct {
	Policy subscription.Policy // does not change

	begun uint64 // its number among all lanes of a book

	mu          sync.Mutex // nothing else is locked while it is held
	byTag       map[tags.Tag]*Counts
	total       Counts
	sent        uint64 // messages that have arrived, on connections that have ended
	received    uint64 // messages, as the subscriber counts them, until then
	unconfirmed uint64 // messages of connections that have ended, until it tells what became of them
}

// Add counts lost messages.
func (a *Lane) Add(cause subscription.Cause, tag tags.Tag, messages uint64) {
	if messages == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := a.byTag[tag]
	if counts == nil {
		counts = new(Counts)
		a.byTag[tag] = counts
	}
	counts[cause] += messages
	a.total[cause] += messages
}

// AddTotals adds the counts of a tag to a notice, for the subscriber to compare.
func (a *Lane) AddTotals(to *Notice, tag tags.Tag) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if counts := a.byTag[tag]; counts != nil {
		to.addAll(tag, counts)
	}
}

// Lost returns how many messages of a tag are lost or left out.
func (a *Lane) Lost(tag tags.Tag) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if counts := a.byTag[tag]; counts != nil {
		return counts.Sum()
	}
	return 0
}

// atOnce is how many tags Each reads before others may count.
const atOnce = 1024

// Each calls f with the counts of each tag, in no order. Others count in between.
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
	Sent        uint64 // have arrived, on connections that have ended
	Unconfirmed uint64 // of connections that have ended: not known yet
}

// Sums returns the sums over all tags.
func (a *Lane) Sums() Sums {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Sums{a.total, a.sent, a.unconfirmed}
}

// Left is what a connection leaves behind of a lane when it ends, in messages.
type Left struct {
	Sent     uint64 // the transport has sent them
	Dropped  uint64 // they were queued or given to the transport, and are gone
	Received uint64 // the subscriber has said, on this connection, that it has them

	// Owed says that the subscriber had not unsubscribed. Otherwise what was on its
	// way counts as received.
	Owed bool
}

// End counts what a connection leaves behind, and returns how many messages are
// unconfirmed.
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
	return unconfirmed
}

// Settle takes over what a subscriber that is back has received of what was
// unconfirmed. It has told the rest as missed, or gets it again.
//
//   - received: messages in all, since it first met the publisher.
func (a *Lane) Settle(received uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if received >= a.received { // else it does not remember, and the rest stays unknown
		a.sent += min(received-a.received, a.unconfirmed)
		a.unconfirmed = 0
	}
	a.received = received
}
