package bus

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"tagbus/subscription"
	"tagbus/tags"
)

// account is what a publisher counts of one subscriber, over all its
// connections. It is kept for a while when the subscriber has gone: should it
// come back, both ends go on with the same numbers.
//
// Only the subscriber can know what a lost connection has cost. So at each
// acknowledgement the publisher tells its totals (subscription.Lost), the
// subscriber takes over what it had not heard of, finds from the positions what
// is still missing, and answers with that (subscription.Missed).
type account struct {
	peer  *Peer     // as of the newest connection
	link  *link     // nil when it is not connected
	gone  time.Time // when it left
	owed  bool      // it had subscriptions, and has not said goodbye
	lanes map[uint16]*laneAccount

	awaited bool // when the publisher ends
}

// laneAccount is the account of one lane.
type laneAccount struct {
	policy Policy
	begun  uint64 // its number among all lanes

	mu          sync.Mutex // taken last
	byTag       map[tags.Tag]*lossCounts
	total       lossCounts
	sent        uint64 // messages that have arrived, on connections that have ended
	received    uint64 // messages, as the subscriber counts them, until then
	unconfirmed uint64 // messages of connections that have ended, until it tells what became of them
}

// add counts lost messages.
func (a *laneAccount) add(cause subscription.Cause, tag tags.Tag, count uint64) {
	if count == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := a.byTag[tag]
	if counts == nil {
		counts = new(lossCounts)
		a.byTag[tag] = counts
	}
	counts[cause] += count
	a.total[cause] += count
}

// addTotal adds the counts of a tag, for the subscriber to compare.
func (a *laneAccount) addTotal(to *losses, tag tags.Tag) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if counts := a.byTag[tag]; counts != nil {
		to.merge(&losses{counts: map[tags.Tag]lossCounts{tag: *counts}})
	}
}

// accounts are those of all subscribers. Guarded by Publisher.mu.
type accounts struct {
	byInstance map[string]*account
	ending     bool // each that is lost is awaited
	forgotten  lossCounts
	begun      uint64 // lanes so far
	unsettled  uint64 // messages that those who are forgotten have not confirmed
}

// of returns the account of a link's lane, which it makes if there is none.
func (s *accounts) of(l *link, number uint16, policy Policy) *laneAccount {
	a := s.byInstance[l.peer.Instance]
	if a == nil {
		a = &account{lanes: make(map[uint16]*laneAccount)}
		if s.byInstance == nil {
			s.byInstance = make(map[string]*account)
		}
		s.byInstance[l.peer.Instance] = a
	}
	a.peer, a.link = l.peer, l
	a.owed, a.awaited = false, false
	n := a.lanes[number]
	if n == nil {
		s.makeRoom(a, l)
		s.begun++
		n = &laneAccount{policy: policy, begun: s.begun, byTag: make(map[tags.Tag]*lossCounts)}
		a.lanes[number] = n
	}
	return n
}

// connected returns the link over which the subscriber with an instance
// already subscribes, or nil.
func (s *accounts) connected(instance string) *link {
	if a := s.byInstance[instance]; a != nil {
		return a.link
	}
	return nil
}

// leave notes that a link has ended, and returns how many messages are
// unconfirmed.
func (s *accounts) leave(l *link) (unconfirmed uint64) {
	for _, n := range l.lanes {
		unconfirmed += n.account.end(n, l.owed)
	}
	a := s.byInstance[l.peer.Instance]
	switch {
	case a == nil:
		return 0
	case a.link == l:
		a.owed = l.owed && !l.parted && !errors.Is(l.fault, ErrProtocol) && !errors.Is(l.fault, ErrStalled)
		a.awaited = a.owed && s.ending
	default: // it has not subscribed, or has another connection
		return unconfirmed
	}
	a.link, a.gone = nil, time.Now()
	s.trim()
	return unconfirmed
}

// trim forgets those that have gone first when there are too many.
func (s *accounts) trim() {
	var gone []*account
	entries := 0
	for _, a := range s.byInstance {
		if a.link == nil && !a.awaited {
			gone = append(gone, a)
			entries += a.entries()
		}
	}
	slices.SortFunc(gone, func(a, b *account) int { return a.gone.Compare(b.gone) })
	for len(gone) > maxGone || len(gone) > 1 && entries > maxGoneTags {
		a := gone[0]
		gone, entries = gone[1:], entries-a.entries()
		s.forget(a)
	}
}

// states returns the accounts of those that have gone, and the sums of all.
func (s *accounts) states() (gone []SubscriberState, sum Losses, unconfirmed uint64) {
	all := s.forgotten
	unconfirmed = s.unsettled
	var away []*account
	for _, a := range s.byInstance {
		for _, n := range a.lanes {
			n.mu.Lock()
			all.add(&n.total)
			unconfirmed += n.unconfirmed
			n.mu.Unlock()
		}
		if a.link == nil {
			away = append(away, a)
		}
	}
	slices.SortFunc(away, func(a, b *account) int { return a.gone.Compare(b.gone) })
	for _, a := range away {
		state := SubscriberState{Peer: *a.peer}
		for _, n := range a.lanes {
			state.Lanes = append(state.Lanes, n.state())
		}
		sortLanes(state.Lanes)
		gone = append(gone, state)
	}
	return gone, all.export(), unconfirmed
}

// state returns the account as users see it.
func (a *laneAccount) state() LaneState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return LaneState{Policy: a.policy, Sent: a.sent, Losses: a.total.export(), Unconfirmed: a.unconfirmed}
}

func sortLanes(lanes []LaneState) {
	slices.SortFunc(lanes, func(a, b LaneState) int { return cmp.Compare(a.Policy.String(), b.Policy.String()) })
}

// sorted returns the lanes' numbers, ascending.
func (a *account) sorted() []uint16 { return slices.Sorted(maps.Keys(a.lanes)) }

// TagLosses is what a subscriber of a publisher did not get of a tag.
type TagLosses struct {
	Policy Policy // of the subscription
	Tag    tags.Tag
	Losses Losses
}

// TagLosses returns what a subscriber did not get of each tag since it first
// connected, by policy and tag; tags of which it got everything are not listed.
// The subscriber counts the same: see Subscriber.TagStats.
//
//   - instance: Peer.Instance of the subscriber. One that the publisher does
//     not know, or does not remember any more, has no losses: it remembers the
//     last 256 that have gone.
//   - Threads: any. Blocks: never.
func (p *Publisher) TagLosses(instance string) []TagLosses {
	var all []TagLosses
	for _, n := range p.lanesWith(instance) {
		from := len(all)
		all = n.appendLosses(all)
		slices.SortFunc(all[from:], func(a, b TagLosses) int { return cmp.Compare(a.Tag, b.Tag) })
	}
	return all
}

// lanesWith returns the accounts of the lanes of a subscriber, by number.
func (p *Publisher) lanesWith(instance string) (lanes []*laneAccount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.accounts.byInstance[instance]; a != nil {
		for _, number := range a.sorted() {
			lanes = append(lanes, a.lanes[number])
		}
	}
	return lanes
}

// lossesAtOnce is how many entries of an account are read while those who count wait.
const lossesAtOnce = 1024

// appendLosses appends the losses of all tags, in no order. Others count in between.
func (a *laneAccount) appendLosses(all []TagLosses) []TagLosses {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := 0
	for tag, counts := range a.byTag {
		all = append(all, TagLosses{a.policy, tag, counts.export()})
		if seen++; seen%lossesAtOnce == 0 {
			a.mu.Unlock()
			a.mu.Lock()
		}
	}
	return all
}
