// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"time"

	"tagbus/bus/internal/heartbeat"
)

// onTick is the publisher's tick.
func (p *publisherImpl) onTick(now time.Time, late time.Duration) {
	for l := range p.connections {
		l.tick(now, late)
	}
	p.boundAccounts(maxAccountTags)
}

// admitted begins to exchange heartbeats with a subscriber: every interval of this side,
// and of millis milliseconds at the subscriber. Loop only.
func (l *link) admitted(every time.Duration, millis int) {
	l.state = linkReady
	l.pulse.Begin(&l.pub.heart, l.ep, every, millis)
}

// tick checks a connection once per tick. Loop only.
func (l *link) tick(now time.Time, late time.Duration) {
	h := &l.pub.heart
	if l.state == linkLeaving { // it need not take its last message
		if h.Over(now.Sub(l.left), helloTimeout) {
			_ = l.ep.Close()
		}
		return
	}
	if l.state != linkReady || l.fault != nil {
		return
	}
	if l.reading.Paused() {
		l.pulse.Excuse() // nothing can be heard now
	}
	if silent, allowed := l.pulse.Silent(now, late); allowed > 0 {
		l.pub.silent.Add(1)
		l.end(&SilentError{For: silent, Limit: allowed})
		return
	}
	if !l.stalled && l.out.Quiet() { // as most are when there are many
		if l.pulse.Due(now, false, true) {
			l.out.Beat()
		}
		h.Need(l.limit)
		return
	}
	sent, moved, idle := l.out.Tick(now, late)
	if l.pulse.Due(now, sent, idle) {
		l.out.Beat()
	}
	l.patience(now, moved)
}

// patience reports a subscriber that takes nothing and so holds up the publisher. It
// ends the connection after maxStall. Loop only.
func (l *link) patience(now time.Time, moved bool) {
	h, p := &l.pub.heart, l.pub
	patience := p.cfg.HeartbeatTimeout
	if patience < 0 {
		patience = heartbeat.DefaultTimeout
	}
	if moved && l.stalled {
		l.stalled = false
		l.event(Event{Kind: Resumed, Peer: l.peer})
	}
	l.limit = 0
	longest := time.Duration(0)
	for _, n := range l.out.Lanes {
		stuck := n.StuckFor(now)
		longest = max(longest, stuck)
		limit := p.maxStall(policyFrom(n.Policy))
		h.Need(limit)
		if l.limit == 0 || limit > 0 && limit < l.limit {
			l.limit = limit
		}
		switch {
		case limit > 0 && h.Over(stuck, limit):
			p.stalled.Add(1)
			l.end(&StallError{For: max(stuck, limit), Limit: limit})
			return
		case !l.stalled && h.Over(stuck, patience) && n.HoldsUp():
			l.stalled = true
			l.event(Event{Kind: Stalled, Peer: l.peer, Err: &StallError{For: max(stuck, patience)}})
		}
	}
	switch {
	case h.Over(longest, patience): // whether that holds up the publisher or loses messages
		l.stalledAt.Store(now.Add(-longest).UnixNano())
	case !l.stalled:
		l.stalledAt.Store(0)
	}
}

// maxStall returns how long a lane may have pages waiting and its subscriber take none;
// 0: for ever.
func (p *publisherImpl) maxStall(policy Policy) time.Duration {
	most := p.cfg.MaxStall
	switch {
	case !policy.Lossless():
		return 0
	case policy.Kind == Disconnect && (most == 0 || policy.After < most):
		return policy.After
	default:
		return most
	}
}

// end closes the connection; the Lost event says why. Loop only.
func (l *link) end(cause error) {
	if l.fault == nil {
		l.fault = cause
		_ = l.ep.Close()
	}
}
