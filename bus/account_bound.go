package bus

import (
	"fmt"
	"time"
)

// Bounds of what is remembered of subscribers.
const (
	maxGone     = 256     // subscribers that have gone
	maxGoneTags = 1 << 18 // their entries, see account.entries; only the one that went last may have more

	// maxAccountTags bounds the entries of all subscribers, about 1.7 GB: those of a
	// hundred that have lost something of each of 100,000 tags.
	maxAccountTags = 1 << 24

	// laneEntries is what a lane takes without entries of tags, in such.
	laneEntries = 3

	accountsInterval = time.Second // between looks at all accounts
)

// entries returns what an account takes, in entries of laneAccount.byTag, about 100
// bytes each.
func (a *account) entries() (n int) {
	for _, lane := range a.lanes {
		lane.mu.Lock()
		n += laneEntries + len(lane.byTag)
		lane.mu.Unlock()
	}
	return n
}

// forget drops an account. Its losses go on to count in the sum of all.
func (s *accounts) forget(a *account) {
	delete(s.byInstance, a.peer.Instance)
	for number := range a.lanes {
		s.forgetLane(a, number)
	}
}

func (s *accounts) forgetLane(a *account, number uint16) {
	n := a.lanes[number]
	n.mu.Lock()
	s.forgotten.add(&n.total)
	s.unsettled += n.unconfirmed
	n.mu.Unlock()
	delete(a.lanes, number)
}

// makeRoom keeps an instance from having more lanes than a connection can have: a
// subscriber goes on with the same ones. The one that was begun first goes, of those
// that the connection has not.
func (s *accounts) makeRoom(a *account, l *link) {
	for len(a.lanes) >= maxLanes {
		oldest, found := uint16(0), false
		for number, n := range a.lanes {
			if l.lane(number) == nil && (!found || n.begun < a.lanes[oldest].begun) {
				oldest, found = number, true
			}
		}
		if !found {
			return
		}
		s.forgetLane(a, oldest)
	}
}

// largest returns the account of a connected subscriber that takes most, if all
// together take more than limit entries, and how many it has.
func (s *accounts) largest(limit int) (most *account, entries int) {
	all := 0
	for _, a := range s.byInstance {
		n := a.entries()
		all += n
		if a.link != nil && n > entries {
			most, entries = a, n
		}
	}
	if all <= limit {
		return nil, 0
	}
	return most, entries
}

// checkAccounts ends the connection of the subscriber whose account is largest, when
// all together take too much memory, and forgets what it has lost. Loop only.
func (p *Publisher) checkAccounts(now time.Time) {
	if now.Sub(p.accountsSeen) < accountsInterval {
		return
	}
	p.accountsSeen = now
	p.mu.Lock()
	a, n := p.accounts.largest(maxAccountTags)
	if a == nil {
		p.mu.Unlock()
		return
	}
	l := a.link
	p.accounts.forget(a)
	p.mu.Unlock()
	l.end(fmt.Errorf("%w: %d entries, %d of all subscribers", ErrAccountMemory, n, maxAccountTags))
}
