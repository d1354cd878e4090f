package bus

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"tagbus/bus/internal/ledger"
	"tagbus/tags"
)

const (
	// maxAccountTags bounds the entries of all subscribers, about 1.7 GB. That is
	// enough for a hundred subscribers with losses of 100,000 tags each.
	maxAccountTags = 1 << 24

	accountsInterval = time.Second // between looks at all accounts
)

// checkAccounts checks the size of all accounts, once per accountsInterval. Loop only.
func (p *Publisher) checkAccounts(now time.Time) {
	if now.Sub(p.accountsSeen) >= accountsInterval {
		p.accountsSeen = now
		p.boundAccounts(maxAccountTags)
	}
}

// boundAccounts bounds the entries of all accounts. Above the limit, it ends the
// connection of the subscriber with the largest account, and forgets this account. Loop
// only.
func (p *Publisher) boundAccounts(limit int) {
	p.fan.Mu.Lock()
	a, n := p.accounts.Largest(limit)
	if a == nil {
		p.fan.Mu.Unlock()
		return
	}
	l := a.Link
	p.accounts.Forget(a)
	p.fan.Mu.Unlock()
	l.end(fmt.Errorf("%w: %d entries, %d of all subscribers", ErrAccountMemory, n, limit))
}

// leaveAccount ends the account of a connection, and returns the number of unconfirmed
// messages. fan.Mu is held, and the link is dead. Loop only.
func (p *Publisher) leaveAccount(l *link) (unconfirmed uint64) {
	unconfirmed = l.out.CloseAccounts(l.owed)
	owed := l.owed && !l.parted && !errors.Is(l.fault, ErrProtocol) && !errors.Is(l.fault, ErrStalled)
	if !p.accounts.Leave(l.peer.Instance, l, owed) {
		return 0
	}
	return unconfirmed
}

// laneState returns an account as users see it.
func laneState(a *ledger.Lane) LaneState {
	sums := a.Sums()
	return LaneState{Policy: a.Policy, Sent: sums.Sent, Losses: lossesOf(&sums.Lost), Unconfirmed: sums.Unconfirmed}
}

// goneStates returns the accounts of subscribers that have gone, in the order in which
// they went. fan.Mu is held.
func (p *Publisher) goneStates() (gone []SubscriberState) {
	for _, a := range p.accounts.Gone() {
		state := SubscriberState{Peer: *a.Peer}
		for _, n := range a.Lanes() {
			state.Lanes = append(state.Lanes, laneState(n))
		}
		sortLanes(state.Lanes)
		gone = append(gone, state)
	}
	return gone
}

func sortLanes(lanes []LaneState) {
	slices.SortFunc(lanes, func(a, b LaneState) int { return cmp.Compare(a.Policy.String(), b.Policy.String()) })
}

// TagLosses counts the messages of a tag that a subscriber did not get.
type TagLosses struct {
	Policy Policy // of the subscription
	Tag    tags.Tag
	Losses Losses
}

// TagLosses returns how many messages of each tag a subscriber did not get since it
// first connected, by policy and tag. Tags without losses are not listed. The
// subscriber counts the same: see Subscriber.TagStats.
//
//   - instance: Peer.Instance of the subscriber. The result is empty for an unknown
//     subscriber. The publisher remembers the last 256 that have gone.
//   - Threads: any. Blocks: never.
func (p *Publisher) TagLosses(instance string) []TagLosses {
	var all []TagLosses
	for _, n := range p.lanesWith(instance) {
		from := len(all)
		n.Each(func(tag tags.Tag, counts *ledger.Counts) {
			all = append(all, TagLosses{n.Policy, tag, lossesOf(counts)})
		})
		slices.SortFunc(all[from:], func(a, b TagLosses) int { return cmp.Compare(a.Tag, b.Tag) })
	}
	return all
}

// lanesWith returns the accounts of the lanes of a subscriber, by number.
func (p *Publisher) lanesWith(instance string) []*ledger.Lane {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	if a := p.accounts.Of(instance); a != nil {
		return a.Lanes()
	}
	return nil
}
