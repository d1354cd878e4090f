// SPDX-License-Identifier: Apache-2.0

// Package request asks one publisher for what the subscriptions of a subscriber want of
// it, and knows what it has answered.
//
//   - A [Request] is one subscription at one publisher: a state machine.
//   - A [Book] has all requests, by subscription and by tag.
//   - An [Asker] makes their transitions. It compares what is wanted with what was asked
//     for, sends the difference as groups, and takes the answers.
//
// An Asker knows messages, but no connection: its user, the [Side], says what is wanted,
// sends the messages, and tells it of the end of a connection. Nothing here is locked; all
// of it runs on one loop.
package request

import "tagbus/tags"

// Request is a subscription as one publisher knows it, or knew it when the connection
// was lost. Only one Subscribe of it is on its way at a time: a change meanwhile goes
// with the next one. Its methods make all its transitions; after each of them Book.Note
// is to count it.
//
//	         Ask               Acknowledged           Leave            Ended
//	fresh ────────► subscribing ────────────► active ───────► leaving ───────► fresh
//	                 ▲  │    ▲                  │
//	             Ask │  │    └──────────────────┘
//	                 │  ▼ Refused       Ask
//	                denied
//
// Disconnected leads from each of them to fresh, but keeps the tags that the publisher
// owes. From there Ask resumes.
type Request[S any] struct {
	Sub S // the subscription

	id     uint64
	lane   uint16
	want   tags.Set // what this publisher is to send for it
	sent   tags.Set // what this connection was asked for last; empty: nothing
	whole  tags.Set // what was wanted then, of which sent may be a part
	active tags.Set // what this connection acknowledged last
	acked  tags.Set // what the publisher owes us: acknowledged, on this connection or one before

	subscribing bool  // a Subscribe has not been answered
	leaving     bool  // an Unsubscribe has not been answered
	current     bool  // what is wanted now has been acknowledged
	again       bool  // acknowledged on an earlier connection, and not yet on this one
	denied      error // why sent was refused
	anew        bool  // the same tags are to be asked for again

	open, owed bool       // as counted in the book
	keys       []tags.Tag // under which it is in the index of the book
}

// New returns a request that nothing was asked for. It is in no book yet.
//
//   - id, lane: of the subscription.
//   - want: the tags that the publisher is to send.
func New[S any](sub S, id uint64, lane uint16, want tags.Set) *Request[S] {
	return &Request[S]{Sub: sub, id: id, lane: lane, want: want}
}

// Rewant sets the tags that the publisher is to send. It does not owe other tags any
// more. Rewant reports whether anything has changed.
func (r *Request[S]) Rewant(want tags.Set) bool {
	if r.want.Equal(want) {
		return false
	}
	if gone, err := r.want.Without(want); err == nil {
		if acked, err := r.acked.Without(gone); err == nil { // otherwise want alone decides
			r.acked = acked
		}
	}
	r.want, r.current = want, false
	return true
}

// Ask notes that a Subscribe for the wanted tags is on its way. It reports whether the
// request resumes: it was acknowledged on an earlier connection, and is not yet taken
// up on this one. A resuming request asks only for the tags that the publisher owes, so
// that it makes up for missed messages. Tags added meanwhile are asked for next.
func (r *Request[S]) Ask() (resume bool) {
	resume = r.active.IsEmpty() && r.acked.Intersects(r.want)
	r.sent, r.whole, r.subscribing, r.denied, r.anew = r.want, r.want, true, nil, false
	if resume {
		r.sent = r.goesOn()
	}
	return resume
}

// goesOn returns the wanted tags that the publisher owes, or all wanted tags if the
// difference is too complex.
func (r *Request[S]) goesOn() tags.Set {
	set, err := r.want.Intersection(r.acked)
	if err != nil || set.IsEmpty() {
		return r.want
	}
	return set
}

// Acknowledged notes that the publisher sends the tags asked for. It reports whether
// the publisher acknowledged the subscription on an earlier connection too.
func (r *Request[S]) Acknowledged() (again bool) {
	again = r.again
	r.subscribing, r.again = false, false
	r.active, r.acked = r.sent, r.sent
	if owed, err := r.sent.Intersection(r.want); err == nil {
		r.acked = owed // a tag that was removed meanwhile begins again, even if it is wanted again before the answer to that
	}
	r.current = r.want.Equal(r.sent)
	return again
}

// Refused notes why the publisher does not send the tags asked for. Active tags go on.
func (r *Request[S]) Refused(err error) { r.subscribing, r.denied = false, err }

// AskAnew makes the request ask again for what it has asked for, because the publisher may
// now allow more of it.
func (r *Request[S]) AskAnew() { r.anew = !r.sent.IsEmpty() || r.denied != nil; r.denied = nil }

// Leave reports whether an Unsubscribe is to be sent, and notes that. None is sent
// while a Subscribe is unanswered: a tag must not become active again before the
// publisher knows what was missed of it.
func (r *Request[S]) Leave() (tell bool) {
	if r.subscribing || r.leaving || r.active.IsEmpty() {
		return false
	}
	r.leaving = true
	return true
}

// Drop notes that nothing is wanted of the publisher any more. It owes nothing, and its
// refusal does not matter.
func (r *Request[S]) Drop() { r.acked, r.denied = tags.Set{}, nil }

// Ended notes that the publisher sends nothing any more, as was asked.
func (r *Request[S]) Ended() {
	r.forgetConnection()
	r.acked = tags.Set{}
}

// Disconnected notes the end of the connection. The publisher still owes the same tags,
// unless the subscription is over.
func (r *Request[S]) Disconnected(over bool) {
	r.forgetConnection()
	if over {
		r.acked = tags.Set{}
	}
	r.again = !r.acked.IsEmpty()
}

func (r *Request[S]) forgetConnection() {
	r.sent, r.whole, r.active = tags.Set{}, tags.Set{}, tags.Set{}
	r.subscribing, r.leaving, r.denied, r.anew = false, false, nil, false
}

// Want returns the tags that the publisher is to send.
func (r *Request[S]) Want() tags.Set { return r.want }

// Sent returns the tags that this connection was asked for last.
func (r *Request[S]) Sent() tags.Set { return r.sent }

// Acked returns the tags that the publisher owes: those acknowledged, on this
// connection or one before.
func (r *Request[S]) Acked() tags.Set { return r.acked }

// Denied returns why the publisher has refused the last Subscribe, or nil.
func (r *Request[S]) Denied() error { return r.denied }

// Subscribing reports whether a Subscribe is on its way.
func (r *Request[S]) Subscribing() bool { return r.subscribing }

// Leaving reports whether an Unsubscribe is on its way.
func (r *Request[S]) Leaving() bool { return r.leaving }

// Open reports whether the request is active on this connection, or its beginning or
// end was asked for.
func (r *Request[S]) Open() bool { return r.subscribing || r.leaving || !r.active.IsEmpty() }

// Settled reports whether nothing is left to ask for: all wanted tags were asked for,
// or refused.
func (r *Request[S]) Settled() bool {
	if r.anew {
		return false
	}
	if r.denied != nil {
		return r.whole.Equal(r.want)
	}
	return r.sent.Equal(r.want)
}

// Current reports whether what is wanted now has been acknowledged, and is owed.
func (r *Request[S]) Current() bool { return r.current && !r.acked.IsEmpty() }

// Owes reports whether the publisher has acknowledged that it sends a tag.
func (r *Request[S]) Owes(tag tags.Tag) bool { return r.acked.Contains(tag) && r.want.Contains(tag) }

// knows reports whether the publisher was ever asked for a tag and may send it.
func (r *Request[S]) knows(tag tags.Tag) bool {
	return r.sent.Contains(tag) || r.active.Contains(tag) || r.acked.Contains(tag)
}
