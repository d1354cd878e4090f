// SPDX-License-Identifier: Apache-2.0

package ledger

import "time"

// An ending publisher owes an account to subscribers whose connections are just lost:
// messages on their way are in no count yet. It waits some time for these subscribers.

// Await begins the wait of an ending publisher for subscribers that may come back:
// those lost less than patience ago, and each that is lost from now on.
func (b *Book[L, P]) Await(patience time.Duration) {
	b.ending = true
	for _, a := range b.byInstance {
		a.awaited = a.owed && time.Since(a.gone) < patience
	}
}

// Awaited returns how many awaited subscribers were lost less than patience ago.
func (b *Book[L, P]) Awaited(patience time.Duration) (n int) {
	for _, a := range b.byInstance {
		if a.awaited && time.Since(a.gone) < patience {
			n++
		}
	}
	return n
}

// GiveUp stops waiting for the lost subscribers that cannot come back.
func (b *Book[L, P]) GiveUp(canReturn func(instance string) bool) {
	for instance, a := range b.byInstance {
		if a.owed && !a.connected() && !canReturn(instance) {
			a.owed, a.awaited = false, false
		}
	}
}

// Missing returns how many subscribers were awaited and are not back, and how many
// messages they have not confirmed.
func (b *Book[L, P]) Missing() (subscribers int, unconfirmed uint64) {
	for _, a := range b.byInstance {
		if !a.awaited {
			continue
		}
		subscribers++
		for _, n := range a.lanes {
			unconfirmed += n.Sums().Unconfirmed
		}
	}
	return subscribers, unconfirmed
}

// Returns reports whether a subscriber may connect again to an ending publisher: it is
// owed an account, or has a connection, which may be dead.
func (b *Book[L, P]) Returns(instance string) bool {
	a := b.byInstance[instance]
	return a != nil && (a.owed || a.connected())
}

// Owes reports whether l is not the connection of its subscriber, which is owed an
// account or has another connection.
func (b *Book[L, P]) Owes(instance string, l L) bool {
	return b.Returns(instance) && b.byInstance[instance].Link != l
}
