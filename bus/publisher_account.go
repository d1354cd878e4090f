// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tagbus/bus/internal/coarseclock"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/snapshot"
	"tagbus/subscription"
	"tagbus/tags"
)

// supersede ends an older connection of the same subscriber, not yet known to be dead,
// and then calls f. By then the account of the older one is complete, and the next
// messages of the subscriber refer to it. Until then nothing is read from l. Of several
// connections only the newest waits. Loop only.
func (p *publisherImpl) supersede(l *link, f func()) {
	old := p.newest.Enter(l.peer.Instance, l, func() {
		l.reading.Resume()
		if !l.Ends() && !l.out.Dead() && !p.work.Ended() {
			f()
		}
	})
	if old == nil {
		f()
		return
	}
	p.endSuperseded(old)
	l.reading.Pause()
}

// endSuperseded ends a connection in whose place there is a newer one.
func (p *publisherImpl) endSuperseded(l *link) {
	if l.exit.Begun() {
		return
	}
	l.unroute(func() {})
	l.state = linkLeaving
	if l.fault == nil {
		l.fault = errSuperseded
	}
	_ = l.ep.Close()
}

var errSuperseded = errors.New("bus: the subscriber has connected again")

// onGoodbye handles a subscriber that leaves in order. Loop only.
func (p *publisherImpl) onGoodbye(l *link, m *subscription.Goodbye) {
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
		cause = ErrNoGoodbye
	}
	return blame(cause, l.held)
}

// acked settles the receipts that an Ack answers. Loop only.
func (l *link) acked(m *subscription.Ack) {
	if !l.dialed {
		l.fail(protocolError("an acknowledgement that was not asked for"))
		return
	}
	l.reported(l.out.Acked(m))
}

// maxAccountTags bounds the entries of all subscribers, about 1.7 GB. That is enough for
// a hundred subscribers with losses of 100,000 tags each.
const maxAccountTags = 1 << 24

// boundAccounts bounds the entries of all accounts. Above the limit, it ends the
// connection of the subscriber with the largest account, and forgets this account. Loop
// only.
func (p *publisherImpl) boundAccounts(limit int) {
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

// member is the subscriber of an account.
type member struct {
	peer *Peer
	last snapshot.Last // connection that has ended
}

// leaveAccount ends the account of a connection, and returns the number of unconfirmed
// messages. fan.Mu is held, and the link is dead. Loop only.
//
//   - cause: of the end; nil: in order.
func (p *publisherImpl) leaveAccount(l *link, cause error) (unconfirmed uint64) {
	if a := p.accounts.Of(l.peer.Instance); a != nil && a.Link == l {
		sent := l.out.Stats()
		a.Peer = member{l.peer, snapshot.Last{
			Past: a.Peer.last.Past, Since: l.since, Messages: sent.Messages, Bytes: sent.Bytes, Pages: sent.Pages,
			Ended: time.Now(), Heard: l.pulse.Heard(), Cause: cause,
		}}
	}
	unconfirmed = l.out.CloseAccounts(l.exit.Owed(), coarseclock.Of(l.pulse.Heard()))
	if a := p.accounts.Of(l.peer.Instance); a != nil && a.Link == l {
		a.Peer.last.Remember(unconfirmed, a.Unconfirmed(), ErrStalled)
	}
	owed := l.exit.Owed() && !l.parted && !errors.Is(l.fault, ErrProtocol) && !errors.Is(l.fault, ErrStalled)
	if !p.accounts.Leave(l.peer.Instance, l, owed) {
		return 0
	}
	return unconfirmed
}

// laneState returns an account as users see it.
func laneState(a *ledger.Lane) LaneState {
	sums := a.Sums()
	return LaneState{ID: a.ID, Policy: policyFrom(a.Policy), Sent: sums.Sent, Losses: lossesOf(&sums.Lost), Dropped: droppedOf(&sums.Lost), Unconfirmed: sums.Unconfirmed}
}

// goneStates returns the accounts of subscribers that have gone, in the order in which
// they went. fan.Mu is held.
func (p *publisherImpl) goneStates() (gone []SubscriberState) {
	for _, a := range p.accounts.Gone() {
		last := &a.Peer.last
		state := SubscriberState{Peer: *a.Peer.peer, Since: last.Since, Messages: last.Messages, Bytes: last.Bytes, Pages: last.Pages}
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

	// Dropped is what the subscriber has said that it has lost of the tag itself. It says so
	// about once a second, and of very many tags not of all.
	Dropped Dropped
}

// TagLosses returns how many messages of each tag a subscriber did not get since it
// first connected, by policy and tag. Tags without losses are not listed. The
// subscriber counts the same: see Subscriber.TagStats.
//
//   - instance: Peer.Instance of the subscriber. The result is empty for an unknown
//     subscriber. The publisher remembers the last 256 that have gone.
//   - Threads: any. Blocks: never.
func (handle *Publisher) TagLosses(instance string) []TagLosses {
	p := publisherOf(handle)
	var all []TagLosses
	for _, n := range p.lanesWith(instance) {
		from := len(all)
		n.Each(func(tag tags.Tag, counts *ledger.Counts) {
			all = append(all, TagLosses{policyFrom(n.Policy), tag, lossesOf(counts), droppedOf(counts)})
		})
		slices.SortFunc(all[from:], func(a, b TagLosses) int { return cmp.Compare(a.Tag, b.Tag) })
	}
	return all
}

// lanesWith returns the accounts of the lanes of a subscriber, by number.
func (p *publisherImpl) lanesWith(instance string) []*ledger.Lane {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	if a := p.accounts.Of(instance); a != nil {
		return a.Lanes()
	}
	return nil
}
