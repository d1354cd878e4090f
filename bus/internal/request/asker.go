// SPDX-License-Identifier: Apache-2.0

package request

import (
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// Steps is the cost of checking a request, in steps of a workqueue.Job.
const Steps = 8

// Side is this side of a connection: the subscriptions, and what is sent to the
// publisher. None of its methods calls the Asker, except Ceased, Considered and Ended.
//
//   - S: a subscription.
type Side[S any] interface {
	Key(sub S) (id uint64, lane uint16)
	Over(sub S) bool                      // its end has begun
	Wants(sub S) tags.Set                 // what the publisher is to send for it
	Concerns(sub S) bool                  // the publisher serves some of that, or owes an account
	Cost(sub S) (steps int)               // of Wants and Concerns
	Message(sub S) subscription.Subscribe // that asks for it, without its set
	Stands(stands Standing) workqueue.Job // tells the positions on earlier connections
	MayAsk() bool                         // the connection is ready, and both sides stay
	Queue(m subscription.Message)         // sends it with the next Pump
	Pump()                                // sends what is queued
	Fail(err error)                       // a set cannot be sent
	Stay()                                // something is about to be asked for
	Changed()                             // other requests than before concern a tag
	Ceased()                              // a request has ended, as its subscription wants nothing here any more
	Considered()                          // ConsiderAll is done
	Ended(sub S)                          // a subscription that is Over is not known to the publisher any more
}

// Standing says which positions on earlier connections a Side tells, so that the
// publisher makes up for what was missed since: those of the tags in Set that are Due.
type Standing struct {
	Lane uint16
	Set  tags.Set
	Due  func(tags.Tag) bool // is called for a tag with a position; it counts as told then
	Tell func(subscription.Position)
}

// Asker asks one publisher for what the subscriptions of a subscriber want of it, and
// takes its answers, over all connections with it. It compares what is wanted with what
// was asked for whenever either may have changed. What takes long it does in jobs. The
// publisher is not read meanwhile.
//
// Everything here runs on the loop.
type Asker[S any] struct {
	Book[S]
	side  Side[S]
	subs  *workqueue.List[S] // all that are open
	work  *workqueue.Queue
	share *workqueue.Share // of work

	conn               int  // number of the connection
	sending            int  // groups that are being sent
	considering, again bool // ConsiderAll goes on; and then once more
	forgetting         bool // Disconnect goes on
}

// NewAsker returns an Asker that has asked for nothing.
//
//   - subs: the subscriptions that are open, by the ids of Side.Key.
//   - work, share: for jobs that the publisher, or the end of its connection, causes.
func NewAsker[S any](side Side[S], subs *workqueue.List[S], work *workqueue.Queue, share *workqueue.Share) Asker[S] {
	return Asker[S]{side: side, subs: subs, work: work, share: share}
}

// Considering reports whether ConsiderAll is not done: it may ask for more.
func (a *Asker[S]) Considering() bool { return a.considering }

// Forgetting reports whether Disconnect is not done.
func (a *Asker[S]) Forgetting() bool { return a.forgetting }

// note takes over a change of a request.
func (a *Asker[S]) note(r *Request[S]) {
	a.Note(r)
	a.side.Changed()
}

// Consider asks for what a subscription wants of the publisher, if it was not asked for
// it, or ends its request if that is nothing any more.
func (a *Asker[S]) Consider(sub S) {
	if r := a.revise(sub); r != nil {
		a.share.Add(a.group([]asked[S]{a.asks(r)}))
	}
}

// revise compares the tags that the publisher is to send for a subscription with those
// asked for. It returns the request if a Subscribe is due, otherwise nil.
func (a *Asker[S]) revise(sub S) *Request[S] {
	want := a.side.Wants(sub)
	id, lane := a.side.Key(sub)
	r := a.Of(id)
	if r != nil && r.Rewant(want) {
		a.note(r)
	}
	switch {
	case !a.side.MayAsk() || r != nil && (r.Subscribing() || r.Leaving()):
		return nil // it is looked at again when the connection is ready, or the answer comes
	case r == nil:
		if !a.side.Concerns(sub) {
			return nil
		}
		return New(sub, id, lane, want)
	case r.Settled():
		return nil
	case !a.side.Concerns(sub):
		r.Drop()
		a.leave(r)
		a.side.Ceased() // it may have been the refused rest
		return nil
	}
	return r
}

// ConsiderAll is Consider for all subscriptions, as one group: first those that resume at
// a known position, then by age.
func (a *Asker[S]) ConsiderAll() {
	if a.considering {
		a.again = true
		return
	}
	a.considering, a.again = true, false
	conn := a.conn
	var resumed, fresh []asked[S]
	revise := a.subs.Each(func(sub S) (steps int) {
		r := a.revise(sub)
		if r == nil {
			return a.side.Cost(sub)
		}
		if x := a.asks(r); x.resume {
			resumed = append(resumed, x)
		} else {
			fresh = append(fresh, x)
		}
		return a.side.Cost(sub) + r.Sent().Parts()
	})
	var send workqueue.Job
	a.share.Add(func(budget int) (steps int, done bool) {
		if a.conn != conn {
			return 1, true // the connection is lost, and all of it is asked for again
		}
		if send == nil {
			if steps, done = revise(budget); !done {
				return steps, false
			}
			send = a.group(append(resumed, fresh...))
		}
		n, done := send(budget - steps)
		if done {
			a.considering = false
			if a.again {
				a.ConsiderAll()
			}
			a.side.Considered()
		}
		return steps + n, done
	})
}

// leave sends an Unsubscribe for a request, if one is due.
func (a *Asker[S]) leave(r *Request[S]) {
	if r.Leave() {
		a.InTurn(&subscription.Unsubscribe{ID: r.id})
	}
	a.note(r)
}

// Unsubscribe ends the request of a subscription that was closed here. It reports whether
// an answer of the publisher follows.
//
//   - ready: the connection is.
func (a *Asker[S]) Unsubscribe(sub S, ready bool) (follows bool) {
	a.side.Changed() // what still arrives for it is unwanted
	id, _ := a.side.Key(sub)
	switch r := a.Of(id); {
	case r == nil:
	case r.Open() && ready:
		a.leave(r)
		return true
	default:
		r.Drop()
		a.note(r)
	}
	return false
}
