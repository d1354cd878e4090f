// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Bounds of the remembered accounts.
const (
	maxGone     = 256     // subscribers that have gone
	maxGoneTags = 1 << 18 // their entries; only the one that went last may have more

	// laneEntries is the size of a lane without tags, in entries.
	laneEntries = 3
)

// entries returns the size of an account, in entries of Lane.byTag, about 100 bytes
// each.
func (a *Account[L, P]) entries() (n int) {
	for _, lane := range a.lanes {
		lane.mu.Lock()
		n += laneEntries + len(lane.byTag)
		lane.mu.Unlock()
	}
	return n
}

// trim forgets the subscribers that went first, if too many have gone.
func (b *Book[L, P]) trim() {
	gone := slices.DeleteFunc(b.Gone(), func(a *Account[L, P]) bool { return a.awaited })
	entries := 0
	for _, a := range gone {
		entries += a.entries()
	}
	for len(gone) > maxGone || len(gone) > 1 && entries > maxGoneTags {
		a := gone[0]
		gone, entries = gone[1:], entries-a.entries()
		b.Forget(a)
	}
}

// Forget drops an account. Its losses stay in the sums.
func (b *Book[L, P]) Forget(a *Account[L, P]) {
	delete(b.byInstance, a.instance)
	for number := range a.lanes {
		b.forgetLane(a, number)
	}
}

func (b *Book[L, P]) forgetLane(a *Account[L, P], number uint16) {
	a.lanes[number].forget()
	sums := a.lanes[number].Sums()
	b.forgotten.Add(&sums.Lost)
	b.times.Add(&sums.Times)
	b.unsettled += sums.Unconfirmed
	delete(a.lanes, number)
}

// makeRoom forgets lanes of an account until it may have one more, as Open says.
func (b *Book[L, P]) makeRoom(a *Account[L, P], most int, has func(uint16) bool) {
	for len(a.lanes) >= most {
		oldest, found := uint16(0), false
		for number, n := range a.lanes {
			if !has(number) && (!found || n.ID < a.lanes[oldest].ID) {
				oldest, found = number, true
			}
		}
		if !found {
			return
		}
		b.forgetLane(a, oldest)
	}
}

// Largest returns the largest account of a connected subscriber, and its entries, if
// all accounts together have more than limit entries. An entry takes about 100 bytes.
func (b *Book[L, P]) Largest(limit int) (most *Account[L, P], entries int) {
	if b.entries.Load() <= int64(limit) {
		return nil, 0
	}
	for _, a := range b.byInstance {
		if n := a.entries(); a.connected() && n > entries {
			most, entries = a, n
		}
	}
	return most, entries
}
