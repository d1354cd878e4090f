package ledger

import "time"

// A publisher that ends owes an account to the subscribers that it has just lost: what
// was on its way to them is in no count yet. It waits for those some time.

// Await begins to wait for the subscribers that may come back, because the publisher
// ends: those that were lost less than patience ago, and each that is lost from now on.
func (b *Book[L, P]) Await(patience time.Duration) {
	b.ending = true
	for _, a := range b.byInstance {
		a.awaited = a.owed && time.Since(a.gone) < patience
	}
}

// Awaits reports whether a subscriber is awaited that was lost less than patience ago.
func (b *Book[L, P]) Awaits(patience time.Duration) bool {
	for _, a := range b.byInstance {
		if a.awaited && time.Since(a.gone) < patience {
			return true
		}
	}
	return false
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

// Returns reports whether a subscriber may connect again when the publisher ends: one
// that is owed an account, or that has a connection, which may be dead.
func (b *Book[L, P]) Returns(instance string) bool {
	a := b.byInstance[instance]
	return a != nil && (a.owed || a.connected())
}

// Owes reports whether l is not the connection of its subscriber, which is owed an
// account or has another connection.
func (b *Book[L, P]) Owes(instance string, l L) bool {
	return b.Returns(instance) && b.byInstance[instance].Link != l
}
