// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"time"

	"tagbus/bus/internal/portrait"
	"tagbus/bus/state"
	"tagbus/internal/sanitize"
)

// past is what a publisher remembers of the earlier connections of a subscriber. Each look at
// a subscriber that is cut off again and again finds a connection that is new and has no fault.
type past struct {
	broken, stalls uint64    // ended without goodbye; and of those, because it took nothing
	first, last    time.Time // when the first and the last of broken ended
	cause          error     // of the last
	openFrom       time.Time // since when messages are unconfirmed, or were so last: it was heard last then, before the first such connection ended,
	openTo         time.Time // and the last one ended here
}

// pastOf returns what is remembered of the subscriber of a connection. fan.Mu is held.
func (p *Publisher) pastOf(l *link) past {
	if a := p.accounts.Of(l.peer.Instance); a != nil {
		return a.Peer.past
	}
	return past{}
}

// add adds a connection that has ended.
//
//   - unconfirmed: messages that it has left so.
//   - all: those, and what earlier ones have left.
func (b *past) add(m *member, unconfirmed, all uint64) {
	if unconfirmed > 0 {
		b.openTo = m.ended
		if all == unconfirmed {
			b.openFrom = m.heard
		}
	}
	if m.cause == nil {
		return
	}
	if b.broken++; b.broken == 1 {
		b.first = m.ended
	}
	if errors.Is(m.cause, ErrStalled) {
		b.stalls++
	}
	b.last, b.cause = m.ended, m.cause
}

// portray puts it into the state of the subscriber.
func (b *past) portray(peer *state.Peer) {
	if !b.openTo.IsZero() {
		peer.UnconfirmedFrom, peer.UnconfirmedTo = portrait.Time(b.openFrom), portrait.Time(b.openTo)
	}
	if b.broken == 0 {
		return
	}
	peer.Broken, peer.StallsEnded = b.broken, b.stalls
	peer.FirstBroken, peer.LastBroken = portrait.Time(b.first), portrait.Time(b.last)
	peer.BrokenReason = sanitize.Cut(sanitize.Error(b.cause), state.MaxReason)
}
