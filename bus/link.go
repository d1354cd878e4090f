// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"time"

	"tagbus/bus/internal/door"
	"tagbus/bus/internal/events"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/stall"
	"tagbus/bus/internal/workqueue"
	"tagbus/bus/state"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// link is the publisher's side of the connection to one subscriber: what the loop knows
// of the session. What publishing goroutines share of it is its outbox.
type link struct {
	pub *publisherImpl
	ep  netio.Endpoint
	out fanout.Outbox

	since time.Time // when the connection began; does not change

	minSendsFree snapshot.Lowest   // guarded by fan.Mu
	passed       []state.PassedWay // better ways to a receiver than this one; guarded by fan.Mu
	missing      tags.Set          // what it has said that it wants and may not have, since it was told what it may; guarded by fan.Mu

	// Loop only.
	// The tick needs only the next ones of most links: they are close together.
	state   linkState
	held    time.Duration // for which this side stood still just before the end of the connection
	fault   error         // why this side closes, or has closed
	stall   stall.Watch[*fanout.Lane]
	pulse   heartbeat.Pulse
	reading heartbeat.Reading

	left      time.Time // linkLeaving: when
	parted    bool      // the subscriber has said goodbye
	asked     bool      // a group of subscriptions was complete
	denied    bool      // missing has tags
	dismissed bool      // goodbye is said to it
	dialed    bool      // by this side: the peer may be idle, and acknowledges pages
	peer      *Peer
	who       door.Peer          // which one it is, and what it may do
	grace     alarm.Alarm        // until it has ended what it may no longer have
	deadline  heartbeat.Deadline // for a subscription
	events    events.Conn
	tasks     workqueue.Line
	exit      *fanout.Exit // of out; nil before unroute
}

type linkState int

const (
	linkHello   linkState = iota // the peer has not said hello
	linkReady                    // the peer may subscribe
	linkLeaving                  // a last message is on its way
)

// fail closes the connection for a fault of the peer. Loop only.
func (l *link) fail(err error) {
	if l.fault != nil {
		return // it is closing already
	}
	l.fault = err
	l.event(Event{Kind: Problem, Peer: l.peer, Err: err})
	_ = l.ep.Close()
}

// refuse closes the connection once the peer is told why: instead of a hello, or later. Loop only.
func (l *link) refuse(reason error) {
	b, err := subscription.Append(nil, refusal(0, reason))
	if err != nil {
		l.fail(err)
		return
	}
	l.closeAfter(b, reason)
	l.refused(reason)
}

// closeAfter closes the connection once a last message is sent. Loop only.
func (l *link) closeAfter(last []byte, reason error) {
	l.state, l.fault, l.left = linkLeaving, reason, time.Now()
	l.out.SendLast(last)
}

// event reports e, which the subscriber has caused. Loop only.
func (l *link) event(e Event) { l.pub.events.Add(e, &l.events) }

// answered reports the outcome of the subscriptions of a group, which may be very large. Loop only.
func (l *link) answered(group []fanout.Wish) {
	type answer struct {
		set tags.Set
		err error // why it is refused
	}
	answers := make([]answer, len(group))
	for i, w := range group {
		answers[i] = answer{w.Set, w.Err}
	}
	peer := l.peer
	l.pub.events.AddSeries(events.Each(answers, func(a answer) Event {
		if a.err != nil {
			return Event{Kind: Refused, Peer: peer, Tags: a.set, Err: a.err}
		}
		return Event{Kind: Subscribed, Peer: peer, Tags: a.set}
	}), &l.events, len(group))
}

// Long work caused by a subscriber is a task of its link, which is the workqueue.Peer.

func (l *link) Pause()     { l.reading.Pause() }
func (l *link) Resume()    { l.reading.Resume() }
func (l *link) Ends() bool { return l.fault != nil || l.exit.Begun() }
func (l *link) Aborted()   { l.exit.Abort() } // the publisher ends

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
	if !l.stall.Told() && l.out.Quiet() { // as most are when there are many
		if l.pulse.Due(now, false, true) {
			l.out.Beat()
		}
		h.Need(l.stall.Limit())
		return
	}
	sent, moved, idle := l.out.Tick(now, late)
	if l.pulse.Due(now, sent, idle) {
		l.out.Beat()
	}
	policy := func(n *fanout.Lane) subscription.Policy { return n.Policy }
	l.stalls(l.stall.Look(now, l.out.Lanes, policy, moved, &l.pub.limits, h))
}

// stalls does what follows for a subscriber that takes nothing. Loop only.
func (l *link) stalls(f stall.Found) {
	if f.Resumed {
		l.event(Event{Kind: Resumed, Peer: l.peer})
	}
	if f.Stalled > 0 {
		l.event(Event{Kind: Stalled, Peer: l.peer, Err: &StallError{For: f.Stalled}})
	}
	if f.Over > 0 {
		l.pub.stalled.Add(1)
		l.end(&StallError{For: f.Over, Limit: f.Limit})
	}
}

// end closes the connection; the Lost event says why. Loop only.
func (l *link) end(cause error) {
	if l.fault == nil {
		l.fault = cause
		_ = l.ep.Close()
	}
}
