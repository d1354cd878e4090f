package bus

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/positions"
	"tagbus/subscription"
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
	p.fan.mu.Lock()
	a, n := p.accounts.Largest(limit)
	if a == nil {
		p.fan.mu.Unlock()
		return
	}
	l := a.Link
	p.accounts.Forget(a)
	p.fan.mu.Unlock()
	l.end(fmt.Errorf("%w: %d entries, %d of all subscribers", ErrAccountMemory, n, limit))
}

// leaveAccount ends the account of a connection, and returns the number of unconfirmed
// messages. mu is held, and the link is dead. Loop only.
func (p *Publisher) leaveAccount(l *link) (unconfirmed uint64) {
	for _, n := range l.out.lanes {
		unconfirmed += n.account.End(ledger.Left{
			Sent: n.sentMessages, Dropped: n.dropped, Received: max(n.said.here(), n.ackedMessages), Owed: l.owed,
		})
	}
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
// they went. mu is held.
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
	p.fan.mu.Lock()
	defer p.fan.mu.Unlock()
	if a := p.accounts.Of(instance); a != nil {
		return a.Lanes()
	}
	return nil
}

// A publisher does not know what of the data given to the transport has arrived. The
// subscriber reports from time to time how much it has received. When a connection
// ends, the rest is unconfirmed until the subscriber comes back and reports it.

// said is how many messages the subscriber of a lane has received on all connections,
// as it said on this one. Loop only.
type said struct {
	before uint64 // on earlier connections
	all    uint64
	begun  bool // it has said something
}

// here returns the number of messages received on this connection.
func (s *said) here() uint64 { return s.all - s.before }

// onReceived notes how many messages of a lane the subscriber has received. Loop only.
func (p *Publisher) onReceived(l *link, m *subscription.Received) {
	n := l.out.lane(m.Lane)
	switch {
	case n == nil:
		l.fail(protocolError("received messages in lane %d, which has no subscription", m.Lane))
	case m.Messages > positions.Max:
		l.fail(protocolError("received %d messages in lane %d, limit %d", m.Messages, m.Lane, uint64(positions.Max)))
	case !n.said.begun:
		n.said = said{m.Messages, m.Messages, true}
		n.account.Settle(m.Messages)
	case m.Messages < n.said.all || m.Messages-n.said.before > n.given():
		l.fail(protocolError("received %d messages in lane %d after %d, of %d that were sent since %d",
			m.Messages, m.Lane, n.said.all, n.given(), n.said.before))
	default:
		n.said.all = m.Messages
	}
}

// given returns how many messages were given to the transport on this connection.
// Loop only.
func (n *lane) given() uint64 {
	n.out.mu.Lock()
	defer n.out.mu.Unlock()
	return n.givenMessages
}

// onGoodbye handles a subscriber that leaves in order. Loop only.
func (p *Publisher) onGoodbye(l *link, m *subscription.Goodbye) {
	if len(m.List) > 0 {
		l.fail(protocolError("a goodbye of a subscriber has no list"))
		return
	}
	l.parted, l.state = true, linkLeaving
	_ = l.ep.Close()
}

// endCause returns why a connection has ended, or nil if the subscriber said goodbye or
// this side is closed.
//
//   - cause: that of the transport.
func (l *link) endCause(cause error) error {
	switch {
	case l.fault != nil:
		return l.fault
	case l.parted:
		return nil // what comes after a goodbye does not matter
	case errors.Is(cause, io.EOF):
		return ErrNoGoodbye
	}
	return cause
}

// onMissed handles a count of the subscriber that is higher than that of this side.
func (p *Publisher) onMissed(l *link, m *subscription.Missed) {
	n := l.out.lane(m.Lane)
	if n == nil {
		l.fail(fmt.Errorf("%w: missed messages in lane %d, which has no subscription", ErrProtocol, m.Lane))
		return
	}
	for missed, err := range subscription.PositionsOf(m.List) {
		if err != nil {
			l.fail(errors.Join(ErrProtocol, err))
			return
		}
		if err := p.addMissed(n.account, m.Cause, missed); err != nil {
			l.fail(err)
			return
		}
	}
}
