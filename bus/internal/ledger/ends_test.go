// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tagbus/subscription"
	"tagbus/tags"
)

// ends are a publisher and a subscriber of some tags, with a connection between them
// that may end at any moment. What is on the connection arrives in order, or never.
type ends struct {
	book book
	conn *conn // nil: there is none
	lane *Lane

	published map[tags.Tag]uint64
	wire      []func() // on its way to the subscriber
	sent      uint64   // messages that the transport has taken from this connection
	said      uint64   // of these, the subscriber has said that it has received them

	tallies  map[tags.Tag]*Tally
	received uint64 // messages, in all
	before   uint64 // of these, on earlier connections
}

const someTags = 3

func newEnds() *ends {
	e := &ends{published: make(map[tags.Tag]uint64), tallies: make(map[tags.Tag]*Tally)}
	for tag := range tags.Tag(someTags) {
		e.tallies[tag] = new(Tally)
	}
	e.connect()
	return e
}

// publish publishes a message, which goes out or is lost at the publisher.
func (e *ends) publish(tag tags.Tag, cause subscription.Cause) {
	e.published[tag]++
	switch {
	case e.conn == nil: // the subscriber finds out by the position
	case cause == Ended: // it is not lost
		e.sent++
		e.wire = append(e.wire, func() {
			e.tallies[tag].Deliver()
			e.received++
		})
	default:
		e.lane.Add(cause, tag, 1)
		e.wire = append(e.wire, func() { e.tallies[tag].Lose(cause, 1) })
	}
}

// arrive lets some of what is on its way arrive.
func (e *ends) arrive(n int) {
	for range min(n, len(e.wire)) {
		e.wire[0]()
		e.wire = e.wire[1:]
	}
}

// say makes the subscriber report how much it has received.
func (e *ends) say() {
	if e.conn != nil {
		e.said = e.received - e.before
	}
}

// cut ends the connection.
func (e *ends) cut() {
	if e.conn == nil {
		return
	}
	e.lane.End(Left{Sent: e.sent, Received: e.said, Owed: true})
	e.book.Leave("subscriber", e.conn, true)
	e.conn, e.wire, e.sent, e.said = nil, nil, 0, 0
}

// connect connects again. The subscriber says how much it has received; the publisher
// tells its totals and positions, and hears what else is missing.
func (e *ends) connect() {
	if e.conn != nil {
		return
	}
	e.conn = new(conn)
	e.lane = e.book.Open("subscriber", e.conn, "", 1, subscription.Policy{}, 1, func(uint16) bool { return true })
	e.lane.Settle(e.received)
	e.before = e.received
	for tag, tally := range e.tallies {
		var totals Notice
		e.lane.AddTotals(&totals, tag)
		var told Counts
		totals.Lists(func(cause subscription.Cause, list []subscription.Position) {
			told[cause] = list[0].Count
			tally.Lose(cause, tally.News(cause, list[0].Count))
		})
		if missing := e.published[tag] - tally.Position; missing > 0 {
			tally.Lose(subscription.CauseConnection, missing)
		}
		tally.Excess(&told, func(cause subscription.Cause, messages uint64) { e.lane.Add(cause, tag, messages) })
	}
}

// check compares the two ends, when nothing is on its way.
func (e *ends) check(t interface{ Errorf(string, ...any) }) {
	var delivered uint64
	for tag, tally := range e.tallies {
		lost := tally.Lost()
		if sum := tally.Delivered + tally.Unwanted + lost.Sum(); tally.Position != e.published[tag] || sum != tally.Position {
			t.Errorf("tag %v: published %d, at %d with %d delivered and %d lost", tag, e.published[tag], tally.Position, tally.Delivered, lost.Sum())
		}
		var counted Counts
		e.lane.Each(func(other tags.Tag, counts *Counts) {
			if other == tag {
				counted = *counts
			}
		})
		if counted != lost {
			t.Errorf("tag %v: the publisher has lost %v, the subscriber %v", tag, counted, lost)
		}
		delivered += tally.Delivered
	}
	sums := e.book.Sums()
	if got := sums.Sent + e.sent; got != delivered || sums.Unconfirmed != 0 {
		t.Errorf("the publisher has sent %d messages and %d are unconfirmed, the subscriber has received %d", got, sums.Unconfirmed, delivered)
	}
}

// Whatever is lost, and however often the connection ends, both ends have the same
// counts when they have compared.
func TestBothEndsHaveTheSameCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newEnds()
		causes := []subscription.Cause{Ended, subscription.CauseFull, subscription.CauseMemory, subscription.CauseLeftOut}
		t.Repeat(map[string]func(*rapid.T){
			"publish": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "messages") {
					e.publish(tags.Tag(rapid.IntRange(0, someTags-1).Draw(t, "tag")), rapid.SampledFrom(causes).Draw(t, "lost"))
				}
			},
			"arrive":  func(t *rapid.T) { e.arrive(rapid.IntRange(1, 20).Draw(t, "n")) },
			"say":     func(*rapid.T) { e.say() },
			"cut":     func(*rapid.T) { e.cut() },
			"connect": func(*rapid.T) { e.connect() },
			"": func(t *rapid.T) {
				if e.conn != nil && len(e.wire) == 0 {
					e.check(t)
				}
			},
		})
		e.connect()
		e.arrive(len(e.wire))
		e.check(t)
	})
}

// A subscription that was closed before the news of a loss came leaves both ends with
// the same counts too: the messages are no longer unwanted but lost.
func TestALossOfAClosedSubscriptionIsTakenOver(t *testing.T) {
	var tally Tally
	for range 3 {
		tally.Deliver()
	}
	tally.TakeOver(subscription.CauseFull, tally.News(subscription.CauseFull, 2))
	tally.Begin(10)
	tally.Decline()
	lost := tally.Lost()
	got := fmt.Sprint(tally.Position, tally.Delivered, tally.Unwanted, lost[subscription.CauseFull])
	if want := fmt.Sprint(11, 3, 6, 2); got != want {
		t.Errorf("position, delivered, unwanted, lost: got %s, want %s", got, want)
	}
	tally.Excess(&lost, func(cause subscription.Cause, messages uint64) {
		t.Errorf("got %d messages of cause %v more than the publisher has told, want none", messages, cause)
	})
}
