// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/bus/internal/overlap"
	"tagbus/bus/internal/request"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// consider connects if a subscription wants the publisher's tags. On a connection it
// asks for changes; on a new one for everything, as one group.
func (src *source) consider() {
	switch {
	case src.contact.Idle():
		src.dial.look()
	case src.contact.Ready():
		if !src.rights.Awaited() {
			src.requests.ConsiderAll()
		}
	} // otherwise it is asked for once the connection is ready
}

// considerOne is consider for a single subscription.
func (src *source) considerOne(sub *subscriptionImpl) {
	if sub.over() {
		return
	}
	src.requests.Consider(sub)
	if src.contact.Idle() && src.dial.may() && src.needs(sub) {
		src.dial.begin()
	}
}

// concerns reports whether the publisher has something to send for a subscription. It
// serves some of its tags, or did so and owes an account.
func (src *source) concerns(sub *subscriptionImpl) bool {
	if r := src.requests.Of(sub.id); r != nil && !r.Acked().IsEmpty() {
		return r.Want().Intersects(src.served.Ever())
	}
	return src.sub.duplicates.Concerns(&src.served, sub, src.rights.Both(sub.live))
}

// needs is concerns, whatever the publisher lets this side have: a connection on which there
// is nothing to be had now shows when there is.
func (src *source) needs(sub *subscriptionImpl) bool {
	if !src.rights.Limited() {
		return src.concerns(sub)
	}
	return src.concerns(sub) || src.sub.duplicates.Concerns(&src.served, sub, src.rights.Permitted(sub.live))
}

// unsubscribe ends a subscription that was closed here. What still arrives for
// it counts as unwanted.
func (src *source) unsubscribe(sub *subscriptionImpl) {
	if !src.requests.Unsubscribe(sub, src.contact.Ready()) {
		src.leaveIfUnneeded()
		src.unlisted()
	}
}

// leaveIfUnneeded closes a connection that no subscription wants any more. While all are
// considered, which may ask for more, it does nothing; Considered calls it then.
func (src *source) leaveIfUnneeded() {
	if src.contact.Ready() && !src.requests.Considering() && src.requests.Open() == 0 && !src.dial.Wanted() {
		src.contact.Ended = src.contact.Ended || !src.contact.Listed
		src.out.Leave()
	}
}

// disconnect forgets the state of the connection, and the subscriptions whose
// Unsubscribe was still unanswered. Then it calls then.
func (src *source) disconnect(then func()) {
	src.in.Disconnected()
	atOnce := src.sub.isDialed() // the publisher may dial again at once, and there is one subscription
	src.requests.Disconnect(atOnce, then)
}

// subRequest is a subscription as one publisher knows it.
type subRequest = request.Request[*subscriptionImpl]

// asking is a source as its Asker sees it: a request.Side.
type asking struct{ *source }

func (asking) Key(sub *subscriptionImpl) (id uint64, lane uint16)   { return sub.id, sub.lane }
func (asking) Over(sub *subscriptionImpl) bool                      { return sub.over() }
func (asking) Ended(sub *subscriptionImpl)                          { sub.maybeEnded() }
func (asking) Message(sub *subscriptionImpl) subscription.Subscribe { return sub.request() }
func (src asking) Concerns(sub *subscriptionImpl) bool              { return src.concerns(sub) }
func (src asking) Queue(m subscription.Message)                     { src.out.Push(m) }
func (src asking) Pump()                                            { src.out.Pump() }
func (src asking) Fail(err error)                                   { src.fail(err) }
func (src asking) Changed()                                         { src.in.Changed() }
func (src asking) Considered()                                      { src.leaveIfUnneeded() }

func (src asking) Wants(sub *subscriptionImpl) tags.Set {
	return src.sub.duplicates.Choose(&src.served, sub, src.rights.Both(sub.live))
}

func (src asking) Stands(x request.Standing) workqueue.Job {
	return src.in.Stands(x.Lane, x.Set, x.Due, x.Tell)
}

func (src asking) Cost(sub *subscriptionImpl) (steps int) {
	return request.Steps*(1+src.served.Count()) + src.rights.Cost(sub.live)
}

func (src asking) MayAsk() bool {
	return src.contact.Ready() && !src.rights.Awaited() && !src.contact.Ended && !src.out.Parted()
}

func (src asking) Stay() {
	if !src.contact.Ended {
		src.out.Stay()
	}
}

func (src asking) Ceased() {
	if src.contact.Listed { // otherwise Wanted misses a subscription that is about to ask
		src.leaveIfUnneeded()
	}
}

// choosing is a subscriber as what chooses among the publishers of a tag sees it: an
// overlap.Side.
type choosing struct{ *subscriberImpl }

func (choosing) Asked(src *source) []*subscriptionImpl          { return src.requests.Owed() }
func (choosing) Consider(src *source)                           { src.consider() }
func (choosing) ConsiderOne(src *source, sub *subscriptionImpl) { src.considerOne(sub) }
func (s choosing) Considered()                                  { s.checkReady() }

func (choosing) Divide(src *source, set tags.Set) (has, rest tags.Set) { return src.rights.Divide(set) }

func (choosing) Acked(src *source, sub *subscriptionImpl) tags.Set {
	return src.requests.AckedOf(sub.id)
}

func (s choosing) Presence(src *source) overlap.Presence {
	switch c := &src.contact; {
	case s.sources[c.Entry.Instance] != src:
		return overlap.Forgotten
	case c.Ended:
		return overlap.Gone
	case c.Ready():
		return overlap.Ready
	case c.Listed:
		return overlap.Listed
	}
	return overlap.Gone
}

func (s choosing) Overlap(v *overlap.Pair[*source]) {
	var wanted []tags.Set
	for sub := range s.subs.All {
		wanted = append(wanted, sub.live)
	}
	later, earlier := v.Order()
	s.event(Event{Kind: Duplicate, Peer: later.contact.Describe(), Other: earlier.contact.Describe(), Tags: v.Common(tags.Union(wanted...)), Err: ErrDuplicate})
}

func (choosing) TooComplex(src, o *source, set tags.Set, err error) {
	src.event(Event{Kind: Problem, Peer: src.contact.Describe(), Other: o.contact.Describe(), Tags: set, Err: err})
}

func (choosing) TooMany(src *source) {
	src.event(Event{Kind: Problem, Peer: src.contact.Describe(), Tags: src.contact.Entry.Tags, Err: ErrTooManyDuplicates})
}

// bar notes whether one side of the connection with a publisher lets the other one in.
func (s *subscriberImpl) bar(src *source, barred bool) {
	if src.rights.Bar(barred) {
		s.duplicates.Reconsider(&src.served)
	}
}
