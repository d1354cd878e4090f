package fanout

import (
	"fmt"
	"time"

	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
)

// tick looks at what has moved since the last tick. Loop only.
//
//   - late: how late the tick is; that time does not count for any lane.
//   - sent, moved: something was given to the transport; something has arrived there.
//   - idle: nothing is on its way, and no control message waits.
func (box *Outbox) Tick(now time.Time, late time.Duration) (sent, moved, idle bool) {
	box.mu.Lock()
	defer box.mu.Unlock()
	sent, moved = box.sent, box.moved
	box.sent, box.moved = false, false
	for _, n := range box.Lanes {
		if moved || !n.waits() {
			n.stuck = now
		} else {
			n.stuck = n.stuck.Add(late)
		}
	}
	return sent, moved, box.inFlight.Len() == 0 && box.control.Len() == 0
}

// beat sends a heartbeat, which the next tick does not count as sent. Loop only.
func (box *Outbox) Beat() {
	box.Send(nil, &subscription.Beat{})
	box.mu.Lock()
	box.sent = false
	box.mu.Unlock()
}

// waits reports whether the lane has anything that its subscriber has not taken.
// outbox.mu is held.
func (n *Lane) waits() bool {
	if n.queue.Len() > 0 {
		return true
	}
	for i := range n.out.inFlight.Len() {
		if n.out.inFlight.At(i).lane == n {
			return true
		}
	}
	return false
}

// stuckFor returns how long the lane has had something waiting that did not go, as of the
// last tick. Loop only.
func (n *Lane) StuckFor(now time.Time) time.Duration { return now.Sub(n.stuck) }

// holdsUp reports whether the last refusal of the publisher was for want of what the
// lane holds: its room, or the pool's memory.
func (n *Lane) HoldsUp() bool {
	return n.Policy.Lossless() && (n.refuses.Load() || n.out.fan.dry.Load())
}

// say notes how many messages the subscriber has received in total. Loop only.
//
// Errors: the count cannot be right.
func (n *Lane) Confirm(total uint64) error {
	n.out.mu.Lock()
	given := n.givenMessages
	n.out.mu.Unlock()
	if n.said.Say(n.Account, total, given) {
		return nil
	}
	return fmt.Errorf("received %d messages in lane %d after %d, of %d that were sent since %d",
		total, n.Number, n.said.All, given, n.said.Before)
}

// end closes the accounts of all lanes after kill, and returns the number of unconfirmed
// messages. fanout.mu is held.
//
//   - owed: the subscriber had a subscription when the connection ended.
func (box *Outbox) CloseAccounts(owed bool) (unconfirmed uint64) {
	for _, n := range box.Lanes {
		unconfirmed += n.Account.End(ledger.Left{
			Sent: n.sentMessages, Dropped: n.dropped, Received: max(n.said.Here(), n.ackedMessages), Owed: owed,
		})
	}
	return unconfirmed
}
