// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"sync/atomic"
	"time"

	"tagbus/bus/internal/door"
	"tagbus/bus/internal/events"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/snapshot"
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
	stalledAt    atomic.Int64      // Unix time in nanoseconds since which it takes nothing of what waits; 0: it does, or not for long

	// Loop only.
	// The tick needs only the next ones of most links: they are close together.
	state   linkState
	stalled bool          // reported
	held    time.Duration // for which this side stood still just before the end of the connection
	limit   time.Duration // the shortest maxStall of the lanes at the last tick; 0: none
	fault   error         // why this side closes, or has closed
	pulse   heartbeat.Pulse
	reading heartbeat.Reading

	left      time.Time // linkLeaving: when
	parted    bool      // the subscriber has said goodbye
	asked     bool      // a group of subscriptions was complete
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

// answered reports the outcome of the subscriptions of a group. Loop only.
func (l *link) answered(group []fanout.Wish) {
	if len(group) == 0 {
		return
	}
	answers := make([]groupAnswer, len(group))
	for i, w := range group {
		answers[i] = groupAnswer{w.Set, w.Err}
	}
	l.pub.events.AddSeries(&groupEvents{l.peer, answers}, &l.events, len(group))
}

// groupEvents is the series of events of a group of subscriptions, which may be very
// large.
type groupEvents struct {
	peer    *Peer
	answers []groupAnswer
}

type groupAnswer struct {
	set tags.Set
	err error // why it is refused
}

// Next implements events.Series.
func (g *groupEvents) Next() (e Event, more bool) {
	a := g.answers[0]
	g.answers = g.answers[1:]
	e = Event{Kind: Subscribed, Peer: g.peer, Tags: a.set, Err: a.err}
	if a.err != nil {
		e.Kind = Refused
	}
	return e, len(g.answers) > 0
}

// Long work caused by a subscriber is a task of its link (package workqueue).

// working is a link as what does its tasks sees it.
type working struct{ *link }

// Pause implements workqueue.Peer.
func (l working) Pause() { l.reading.Pause() }

// Resume implements workqueue.Peer.
func (l working) Resume() { l.reading.Resume() }

// Ends implements workqueue.Peer.
func (l working) Ends() bool { return l.ends() }

// Aborted implements workqueue.Peer: the publisher ends.
func (l working) Aborted() { l.exit.Abort() }

// ends reports whether the connection is about to end, or has.
func (l *link) ends() bool { return l.fault != nil || l.exit.Begun() }
