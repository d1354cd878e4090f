// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"math"

	"tagbus/bus/internal/group"
	"tagbus/bus/internal/request"
	"tagbus/subscription"
)

// consider connects if a subscription wants the publisher's tags. On a connection it
// asks for changes; on a new one for everything, as one group.
func (src *source) consider() {
	switch {
	case src.contact.Idle():
		src.seekWanted()
	case src.contact.Ready():
		if !src.awaiting {
			src.askForAll()
		}
	} // otherwise it is asked for once the connection is ready
}

// seekWanted dials if some subscription wants the publisher's tags.
func (src *source) seekWanted() {
	if !src.mayDial() {
		return
	}
	if src.seeking {
		src.seekAgain = true
		return
	}
	src.seeking, src.seekAgain = true, false
	found := false
	look := src.sub.subs.Each(func(sub *Subscription) (steps int) {
		found = found || src.needs(sub)
		return stepsPerRequest*(1+src.served.Count()) + src.accessSteps(sub)
	})
	src.sub.work.Add(func(budget int) (steps int, done bool) {
		if steps, done = look(budget); !done && !found {
			return steps, false
		}
		src.seeking = false
		if found {
			src.dialIfWanted()
		} else if src.seekAgain {
			src.seekWanted()
		}
		if src.contact.Idle() {
			src.unlisted()
		}
		return steps, true
	})
}

// dialIfWanted dials for a subscription that the publisher concerns.
func (src *source) dialIfWanted() {
	if src.contact.Idle() && src.mayDial() && src.sub.sources[src.contact.entry.Instance] == src && src.contact.speakable(src.sub.backend.Name(), src.fits()) {
		src.contact.Dial()
	}
}

// considerOne is consider for a single subscription.
func (src *source) considerOne(sub *Subscription) {
	if sub.over() {
		return
	}
	r := src.revise(sub)
	switch {
	case src.contact.Idle():
		if src.mayDial() && src.needs(sub) {
			src.dialIfWanted()
		}
	case r != nil:
		src.ask([]asked{src.asks(r)})
	}
}

// revise compares the tags that the publisher is to send for a subscription with those
// asked for. It returns the request if a Subscribe is due, otherwise nil.
func (src *source) revise(sub *Subscription) *subRequest {
	want := src.allowed(sub)
	r := src.requests.Of(sub.id)
	if r != nil && r.Rewant(want) {
		src.note(r)
	}
	switch {
	case !src.contact.Ready() || src.awaiting || src.contact.ended || src.parted || r != nil && (r.Subscribing() || r.Leaving()):
		return nil // it is looked at again when the connection is ready, or the answer comes
	case r == nil:
		if !src.concerns(sub) {
			return nil
		}
		return request.New(sub, sub.id, sub.lane, want)
	case r.Settled():
		return nil
	case !src.concerns(sub):
		src.cease(r)
		return nil
	}
	return r
}

// cease ends a request if its subscription wants nothing of this publisher any more.
func (src *source) cease(r *subRequest) {
	r.Drop()
	src.leaveRequest(r)
	if src.contact.listed { // otherwise Wanted misses a subscription that is about to ask
		src.leaveIfUnneeded() // it may have been the refused rest
	}
}

// concerns reports whether the publisher has something to send for a subscription. It
// serves some of its tags, or did so and owes an account.
func (src *source) concerns(sub *Subscription) bool {
	if r := src.requests.Of(sub.id); r != nil && !r.Acked().IsEmpty() {
		return r.Want().Intersects(src.served.Ever())
	}
	return src.allowed(sub).Intersects(src.contact.entry.Tags)
}

// needs is concerns, whatever the publisher lets this side have: a connection on which there
// is nothing to be had now shows when there is.
func (src *source) needs(sub *Subscription) bool {
	if src.granted == nil {
		return src.concerns(sub)
	}
	return src.concerns(sub) || src.choose(sub, src.permitted(sub.live)).Intersects(src.contact.entry.Tags)
}

// Wanted implements contact.User.
func (src *source) Wanted() bool {
	if !src.mayDial() {
		return false
	}
	if sub := src.wanting; sub != nil && src.sub.subs.Has(sub.id) && src.needs(sub) {
		return true
	}
	src.wanting = nil
	for sub := range src.sub.subs.All {
		if src.needs(sub) {
			src.wanting = sub // looked at first the next time
			return true
		}
	}
	return false
}

func (src *source) mayDial() bool { return (src.contact.listed || src.seek.on) && !src.contact.ended }

// subscribe queues one subscription, in as many parts as it takes.
func (src *source) subscribe(r *subRequest, resume, withNext bool) {
	src.leaving = src.leaving && src.contact.ended
	m := r.Sub.request()
	m.Resume, m.WithNext = resume, withNext
	parts, err := group.Parts(m, r.Sent())
	if err != nil {
		src.fail(err)
		return
	}
	for _, part := range parts {
		src.queue(part)
	}
}

// leaveRequest sends an Unsubscribe for a request, if one is due.
func (src *source) leaveRequest(r *subRequest) {
	if r.Leave() {
		src.sendInTurn(&subscription.Unsubscribe{ID: r.Sub.id})
	}
	src.note(r)
}

// unsubscribe ends a subscription that was closed here. What still arrives for
// it counts as unwanted.
func (src *source) unsubscribe(sub *Subscription) {
	src.version++
	r := src.requests.Of(sub.id)
	if r != nil && r.Open() && src.contact.Ready() {
		src.leaveRequest(r)
		return
	}
	if r != nil {
		r.Drop()
		src.note(r)
	}
	src.leaveIfUnneeded()
	src.unlisted()
}

// leaveIfUnneeded closes a connection that no subscription wants any more. During
// askForAll, which may ask for more, it does nothing; askForAll calls it at its end.
func (src *source) leaveIfUnneeded() {
	if src.contact.Ready() && !src.revising && src.requests.Open() == 0 && !src.Wanted() {
		src.contact.ended = src.contact.ended || !src.contact.listed
		src.leave()
	}
}

// disconnect forgets the state of the connection, and the subscriptions whose
// Unsubscribe was still unanswered. Then it calls then.
func (src *source) disconnect(then func()) {
	src.version++
	src.asking, src.told = 0, nil
	for _, n := range src.lanes {
		n.got.Disconnected()
		n.dropping.Disconnected()
	}
	left := src.requests.All()
	src.forgetting = true
	forget := func(budget int) (steps int, done bool) {
		for ; len(left) > 0 && steps < budget; steps += stepsPerRequest {
			src.disconnectOne(left[len(left)-1])
			left = left[:len(left)-1]
		}
		if len(left) > 0 {
			return steps, false
		}
		src.forgetting = false
		then()
		return steps, true
	}
	if src.sub.isDialed() { // the publisher may dial again at once, and there is one subscription
		forget(math.MaxInt)
		return
	}
	src.sub.work.Add(forget)
}

func (src *source) disconnectOne(r *subRequest) {
	over := r.Sub.over()
	r.Disconnected(over)
	src.note(r)
	if over {
		r.Sub.maybeEnded()
	}
}
