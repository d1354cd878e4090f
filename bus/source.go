// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"io"
	"time"

	"tagbus/bus/internal/coarseclock"
	"tagbus/bus/internal/events"
	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/overlap"
	"tagbus/bus/internal/request"
	"tagbus/bus/internal/rights"
	"tagbus/bus/internal/sendqueue"
	"tagbus/bus/internal/workqueue"
	"tagbus/netio"
)

// source is the subscriber's side of one publisher: an entry of the directory
// and, while a subscription wants its tags, the connection to it.
//
// Everything here runs on the loop.
type source struct {
	contact  peerContact
	sub      *subscriberImpl
	met      time.Time     // when the first connection was ready
	vanished bool          // reported so
	fault    error         // why this side closes the connection, or has closed it
	rights   rights.Rights // of both sides
	telling  bool          // what is wanted and not granted is being looked for
	failure  error         // why the publisher ends, if it has said so: a *PeerFailedError
	events   events.Conn
	out      sendqueue.Control // messages to the publisher, and the end in order
	toldAt   time.Time         // when the publisher was last told how much was received
	spoken   bool              // a page has come on this connection
	pulse    heartbeat.Pulse
	reading  heartbeat.Reading
	share    workqueue.Share // of the subscriber's work queue

	dial     dialing
	requests request.Asker[*subscriptionImpl]
	in       dispatcher                 // of what arrives
	served   overlap.Publisher[*source] // what duplicates knows of it
}

func newSource(s *subscriberImpl) *source {
	src := &source{sub: s}
	src.out = sendqueue.NewControl(src.reading.Pause, src.reading.Resume, src.sayLast, src.fail)
	src.dial.src = src
	src.served.Source = src
	src.events = events.Conn{Pause: src.reading.Pause, Resume: src.reading.Resume}
	src.share = s.work.Share(src.reading.Pause, src.reading.Resume)
	src.requests = request.NewAsker(asking{src}, &s.subs, &s.work, &src.share)
	src.in.init(src)
	s.dialer.Prepare(&src.contact.Contact, &src.dial)
	src.contact.Init(&s.own, &words, func(peer *Peer, why error) { src.event(Event{Kind: Refused, Peer: peer, Err: why}) })
	return src
}

// established says hello.
func (src *source) established(ep netio.Endpoint) {
	if !src.contact.Take(ep) {
		return
	}
	src.fault = nil
	if err := src.enter(); err != nil { // before anything is said of this side
		src.sub.bar(src, true)
		src.fail(err)
		return
	}
	hello, err := src.sub.helloTo(src.contact.Entry.Instance, src.sub.heart.Interval())
	if err != nil {
		src.fail(err)
		return
	}
	src.out.Open(ep, hello)
}

// lost cleans up after a connection, and dials again.
func (src *source) lost(cause error) {
	held := src.reading.Held(&src.sub.heart, time.Now())
	src.reading.End()
	wasReady := src.contact.Lose()
	src.requests.Lost()
	if src.out.Parted() && errors.Is(cause, io.EOF) {
		cause = nil // the publisher has closed first
	}
	src.out.Drop()
	if wasReady {
		src.in.Heard(coarseclock.Of(src.pulse.Heard()))
	}
	src.sub.departed()
	if wasReady {
		src.sub.counters.connected(src.contact.Peer, -1)
		src.sub.heart.Leave()
	}
	if src.sub.closed.Load() {
		return
	}
	if cause == nil {
		cause = src.fault
	} else if src.fault == nil {
		cause = blame(cause, held)
	}
	if !wasReady { // it never worked: try the next address
		src.contact.NeverReady(cause)
		return
	}
	src.sub.duplicates.Reconsider(&src.served) // if it has left the directory, others send its tags
	src.sub.gaps.Report()
	src.sub.broken.Add(cause)
	src.sub.remember(src, cause)
	if !src.contact.Ended || cause != nil {
		src.event(Event{Kind: Lost, Peer: src.contact.Peer, Err: cause})
	}
	src.contact.Wait(0) // until the state of the connection is forgotten
	src.telling = false
	src.disconnect(src.goBack)
}

// goBack returns to dialing, or to being dialed, after the state of a connection is
// forgotten. Meanwhile the publisher may have come back or been forgotten.
func (src *source) goBack() {
	switch {
	case !src.contact.Waiting() || src.sub.sources[src.contact.Entry.Instance] != src || src.sub.closed.Load():
	case src.sub.isDialed():
		src.await()
	default:
		src.contact.Retry()
	}
}

// unlisted forgets a publisher that is neither in the directory nor connected, unless
// it owes messages. These are counted if it comes back.
func (src *source) unlisted() {
	if src.contact.Listed || src.contact.Pending() || src.sub.sources[src.contact.Entry.Instance] != src {
		return
	}
	if src.requests.Forgetting() || src.dial.wanting.Looking() {
		return // unlisted is called again when that is done
	}
	if src.dial.seeks() {
		return
	}
	src.contact.Rest()
	if src.requests.Owing() == 0 || src.contact.Ended {
		src.sub.forget(src)
		return
	}
	src.vanish()
}

// vanish reports, once, that the publisher is gone for good without goodbye,
// unless it owes nothing.
func (src *source) vanish() {
	if !src.vanished && src.requests.Owing() > 0 && !src.contact.Ended {
		src.vanished = true
		src.event(Event{Kind: Vanished, Peer: src.contact.Peer, Tags: src.contact.Entry.Tags, Err: src.failure})
	}
}

// fail ends the connection for a fault of the publisher.
func (src *source) fail(err error) {
	if src.fault != nil || src.contact.Ep == nil {
		return
	}
	src.fault = err
	if src.contact.Ready() {
		src.event(Event{Kind: Problem, Peer: src.contact.Peer, Err: err})
	}
	_ = src.contact.Ep.Close()
}

// event reports e, which the publisher has caused.
func (src *source) event(e Event) { src.sub.events.Add(e, &src.events) }
