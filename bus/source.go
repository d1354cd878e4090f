// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
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
	"tagbus/tags"
)

// source is the subscriber's side of one publisher: an entry of the directory
// and, while a subscription wants its tags, the connection to it.
//
// Everything here runs on the loop.
type source struct {
	contact    peerContact
	sub        *subscriberImpl
	met        time.Time     // when the first connection was ready
	vanished   bool          // reported so
	fault      error         // why this side closes the connection, or has closed it
	rights     rights.Rights // of both sides
	unsendable tags.Set      // of those that are received here, what a sender may not send
	telling    bool          // what is wanted and not granted is being looked for
	failure    error         // why the publisher ends, if it has said so: a *PeerFailedError
	events     events.Conn
	out        sendqueue.Control // messages to the publisher, and the end in order
	toldAt     time.Time         // when the publisher was last told how much was received
	spoken     bool              // a page has come on this connection
	pulse      heartbeat.Pulse
	reading    heartbeat.Reading
	share      workqueue.Share // of the subscriber's work queue

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

// errAnswersUnread is the cause of the end of a silent publisher that does not read.
var errAnswersUnread = fmt.Errorf("%w: the publisher asks faster than it reads the answers", ErrProtocol)

// sayLast sends what has no later, before the goodbye.
func (src *source) sayLast() {
	src.in.CountPage() // a handler may have closed the subscriber
	src.in.TellReceived()
	if src.contact.Ready() {
		src.in.TellDropped()
	}
}

// goodbyeTime is how long Close waits for the transport to take the last messages of a
// subscriber.
const goodbyeTime = 250 * time.Millisecond

// farewell says goodbye to all publishers. gone is closed when that is done.
// Loop only.
func (s *subscriberImpl) farewell() {
	s.parting = true
	for _, src := range s.sources {
		if src.contact.Ep != nil && src.fault == nil && !src.out.Parted() {
			src.out.Part()
		}
	}
	s.departed()
}

// departed notes that a connection has ended. Loop only.
func (s *subscriberImpl) departed() {
	if !s.parting {
		return
	}
	for _, src := range s.sources {
		if src.contact.Ep != nil && src.fault == nil {
			return
		}
	}
	s.parting = false
	close(s.gone)
}

// onTick is the subscriber's tick.
func (s *subscriberImpl) onTick(now time.Time, late time.Duration) {
	for _, src := range s.sources {
		if src.contact.Ready() {
			src.tick(now, late)
		}
	}
}

// tick checks a connection once per tick.
func (src *source) tick(now time.Time, late time.Duration) {
	if src.contact.Ep == nil || src.fault != nil {
		return
	}
	if src.out.Queue().Moves() && src.reading.Paused() {
		src.pulse.Excuse() // nothing can be heard now
	}
	if silent, allowed := src.pulse.Silent(now, late); allowed > 0 {
		err := &SilentError{For: silent, Limit: allowed}
		if src.out.Queue().Unread() {
			src.fail(fmt.Errorf("%w: %w", errAnswersUnread, err))
			return
		}
		src.sub.silent.Add(1)
		src.fault = err // the Lost event says why
		_ = src.contact.Ep.Close()
		return
	}
	if src.sub.heart.Due(now, src.toldAt) {
		src.toldAt = now
		src.in.TellReceived()
	}
	if q := src.out.Queue(); src.pulse.Due(now, q.Sent(), q.Idle()) {
		src.out.Beat(src.sub.beat)
	}
}

// reportInterval is the time between events about messages that the policies Latest and
// Sample leave out, or that the queues of subscriptions lose.
const reportInterval = time.Second

// A publisher knows what did not reach a subscriber. What has reached it and was lost there,
// in the queue of a subscription or by a handler that panicked, only the subscriber knows.
// It tells the publisher, which all tools ask.

// reportSoon has report called after a while, unless it is about to be called. Loop only.
func (s *subscriberImpl) reportSoon() {
	if !s.reports.IsSet() {
		s.alarms.Set(&s.reports, reportInterval)
	}
}

// report tells of what is not told at once: the user by events, and the publishers. Loop only.
func (s *subscriberImpl) report() {
	s.gaps.Report()
	for _, src := range s.sources {
		if src.contact.Ep != nil && src.contact.Ready() {
			src.in.TellDropped()
		}
	}
}
