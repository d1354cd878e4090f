package bus

import (
	"tagbus/bus/internal/fanout"
	"tagbus/tags"
)

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
