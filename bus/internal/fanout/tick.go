// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"time"

	"tagbus/bus/internal/ledger"
)

// Quiet reports whether Tick would find nothing sent, moved or waiting. Calls of Tick are
// then left out: of many connections most are quiet. Loop only.
func (box *Outbox) Quiet() bool { return box.quiet.Load() }

// wake ends what Quiet reports, before anything is queued or given to the endpoint. mu is
// held.
func (box *Outbox) wake() {
	if box.quiet.Load() { // which mostly is not so, and costs less than a write
		box.quiet.Store(false)
	}
}

// Tick looks at what has moved since the last call. Loop only.
//
//   - late: how late the tick is; that time does not count for any lane.
//   - sent, moved: something was given to the transport; it has sent something.
//   - idle: nothing is in flight, and no control message waits to go before all pages.
func (box *Outbox) Tick(now time.Time, late time.Duration) (sent, moved, idle bool) {
	box.mu.Lock()
	defer box.mu.Unlock()
	sent, moved = box.sent, box.moved
	box.sent, box.moved = false, false
	idle = box.inFlight.Len() == 0 && box.control.Len() == 0
	quiet := idle && !sent && !moved
	for _, n := range box.Lanes {
		waits := n.waits()
		if moved || box.rested || !waits {
			n.stuck = now
		} else {
			n.stuck = n.stuck.Add(late)
		}
		quiet = quiet && !waits
	}
	box.rested = quiet
	box.quiet.Store(quiet)
	return sent, moved, idle
}

// waits reports whether the lane has anything that its subscriber has not taken.
// Outbox.mu is held.
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

// StuckFor returns how long the lane has had something waiting that did not go, as of the
// last Tick. Loop only.
func (n *Lane) StuckFor(now time.Time) time.Duration { return now.Sub(n.stuck) }

// HoldsUp reports whether messages were refused lately for want of what the lane holds:
// its room, or the pool's memory. A lossy lane holds up none.
func (n *Lane) HoldsUp() bool {
	return n.Policy.Lossless() && (n.refuses.Load() || n.out.fan.dry.Load())
}

// CloseAccounts closes the accounts of all lanes after Kill, and returns the number of
// unconfirmed messages. Fanout.Mu is held. Loop only.
//
//   - owed: the subscriber had a subscription when the connection ended.
//   - heard: the second in which something came from the subscriber last; 0: not known.
func (box *Outbox) CloseAccounts(owed bool, heard uint32) (unconfirmed uint64) {
	for _, n := range box.Lanes {
		unconfirmed += n.Account.End(ledger.Left{
			Sent: n.sentMessages, Dropped: n.dropped, Received: max(n.said.Here(), n.ackedMessages), Owed: owed, Heard: heard,
		})
	}
	return unconfirmed
}
