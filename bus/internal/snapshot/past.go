// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"tagbus/bus/internal/topk"
	"tagbus/bus/state"
	"tagbus/internal/sanitize"
)

// Past is what a program remembers of the earlier connections of a peer. Each look at a peer that
// is cut off again and again finds a connection that is new and has no fault.
type Past struct {
	broken, stalls uint64    // ended without goodbye; and of those, because it took nothing
	own            uint64    // and of those, because this side did
	first, last    time.Time // when the first and the last of broken ended
	cause          error     // of the last
	openFrom       time.Time // since when messages are unconfirmed, or were so last: it was heard last then, before the first such connection ended,
	openTo         time.Time // and the last one ended here
}

// Unconfirmed notes that a connection has left messages unconfirmed.
//
//   - heard, at: when the peer was heard last, and when the connection ended.
//   - again: earlier ones have left some that still are.
func (b *Past) Unconfirmed(heard, at time.Time, again bool) {
	if b.openTo = at; !again {
		b.openFrom = heard
	}
}

// Broke notes that a connection has ended without goodbye.
//
//   - stalled: what a cause is if the peer took nothing.
func (b *Past) Broke(at time.Time, cause, stalled error) {
	if b.broken++; b.broken == 1 {
		b.first = at
	}
	if errors.Is(cause, stalled) {
		b.stalls++
	}
	if errors.As(cause, new(ownStall)) {
		b.own++
	}
	b.last, b.cause = at, cause
}

// ownStall is a cause for which this side is to blame: it took nothing.
type ownStall interface {
	error
	OwnStall() time.Duration
}

// Show puts it into the state of the peer.
func (b *Past) Show(peer *state.Peer) {
	if !b.openTo.IsZero() {
		peer.UnconfirmedFrom, peer.UnconfirmedTo = Time(b.openFrom), Time(b.openTo)
	}
	if b.broken == 0 {
		return
	}
	peer.Broken, peer.StallsEnded, peer.OwnStalls = b.broken, b.stalls, b.own
	peer.FirstBroken, peer.LastBroken = Time(b.first), Time(b.last)
	peer.BrokenReason = Reason(b.cause)
}

// Last is the last connection of a peer that has gone, and what is remembered of all.
type Last struct {
	Past
	Since                  time.Time // when it began
	Messages, Bytes, Pages uint64    // sent on it
	Ended, Heard           time.Time // when that was, and when something came from the peer last
	Cause                  error     // why; nil: in order
}

// Remember adds the connection to the past.
//
//   - unconfirmed: messages that it has left so.
//   - all: those, and what earlier ones have left.
//   - stalled: as for Past.Broke.
func (l *Last) Remember(unconfirmed, all uint64, stalled error) {
	if unconfirmed > 0 {
		l.Unconfirmed(l.Heard, l.Ended, all > unconfirmed)
	}
	if l.Cause != nil {
		l.Broke(l.Ended, l.Cause, stalled)
	}
}

// Show puts it into the state of the peer.
func (l *Last) Show(peer *state.Peer) {
	peer.Messages, peer.Bytes, peer.Pages = l.Messages, l.Bytes, l.Pages
	peer.Ended, peer.Heard = Time(l.Ended), Time(l.Heard)
	if l.Cause != nil {
		peer.Reason = Reason(l.Cause)
	}
	l.Past.Show(peer)
}

// Reason returns the text of why a connection has ended without goodbye.
func Reason(cause error) string {
	if cause == io.EOF { //nolint:errorlint // what wraps it says more
		return "the other side has closed it"
	}
	return sanitize.Cut(sanitize.Error(cause), state.MaxReason)
}

// lately is how long ago a peer was cut off at most to count as cut off now, as package overview
// has it.
const lately = 10 * time.Minute

// CutOff returns how often a peer was cut off; 0 if that was long ago, or once and not because it
// took nothing.
func (b *Past) CutOff(now time.Time) uint64 {
	if b.broken < 2 && b.stalls == 0 || now.Sub(b.last) > lately {
		return 0
	}
	return b.broken
}

// maxPasts is how many peers that are not connected are remembered.
const maxPasts = 256

// Pasts remembers the peers of a program whose connections have ended without goodbye, longer than
// what else is known of them: no directory has those that dial. The zero value is empty.
type Pasts struct {
	of map[string]*remembered // by instance
}

type remembered struct {
	past Past
	peer state.Peer // as the last one was at its end
}

// Of returns what is remembered of an instance.
func (p *Pasts) Of(instance string) (past Past) {
	if r := p.of[instance]; r != nil {
		past = r.past
	}
	return past
}

// Broke notes that a connection has ended without goodbye.
//
//   - peer: as it was at its end.
//   - stalled: as for Past.Broke.
//   - connected: reports whether an instance is connected now.
func (p *Pasts) Broke(peer state.Peer, at time.Time, cause, stalled error, connected func(instance string) bool) {
	r := p.of[peer.Instance]
	if r == nil {
		r = new(remembered)
		if p.of == nil {
			p.of = make(map[string]*remembered)
		}
		p.of[peer.Instance] = r
	}
	r.past.Broke(at, cause, stalled)
	r.peer, r.peer.Ended = peer, Time(at)
	if len(p.of) >= 2*maxPasts {
		p.trim(connected)
	}
}

// trim forgets peers that are not connected, if they are too many: those that were cut off least
// often, and of these those that went first. Strangers that come once displace none that was cut
// off again and again.
func (p *Pasts) trim(connected func(instance string) bool) {
	gone := p.gone(connected)
	slices.SortFunc(gone, func(a, b *remembered) int {
		return cmp.Or(cmp.Compare(min(2, b.past.broken), min(2, a.past.broken)), b.past.last.Compare(a.past.last))
	})
	for _, r := range gone[min(len(gone), maxPasts):] {
		delete(p.of, r.peer.Instance)
	}
}

// Ended forgets an instance, which has said goodbye.
func (p *Pasts) Ended(instance string) { delete(p.of, instance) }

// gone returns those that are not connected.
func (p *Pasts) gone(connected func(instance string) bool) (gone []*remembered) {
	for instance, r := range p.of {
		if !connected(instance) {
			gone = append(gone, r)
		}
	}
	return gone
}

// Gone returns the peers that are not connected, the last to go first: those that Latest keeps.
func (p *Pasts) Gone(most int, now time.Time, connected func(instance string) bool) (peers []state.Peer) {
	for _, r := range Latest(p.gone(connected), most, now, func(r *remembered) (*Past, time.Time) { return &r.past, r.past.last }) {
		peer := r.peer
		peer.Reason = Reason(r.past.cause)
		r.past.Show(&peer)
		peers = append(peers, peer)
	}
	return peers
}

// Latest returns the peers that have gone of which an answer tells, the last to go first. If they
// are too many, those that were cut off of late are kept before others, and then those that went
// last.
//
//   - of: what is remembered of one, and when it went.
func Latest[T any](gone []T, most int, now time.Time, of func(T) (past *Past, went time.Time)) []T {
	latest := func(a, b T) int {
		_, at := of(a)
		_, bt := of(b)
		return bt.Compare(at)
	}
	first := topk.New(most, func(a, b T) int {
		ap, _ := of(a)
		bp, _ := of(b)
		return cmp.Or(cmp.Compare(bp.CutOff(now), ap.CutOff(now)), latest(a, b))
	})
	for _, x := range gone {
		first.Add(x)
	}
	kept := first.Sorted()
	slices.SortStableFunc(kept, latest)
	return kept
}
