// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"io"
	"net/netip"
	"time"

	"tagbus/bus/internal/coarseclock"
	"tagbus/bus/internal/events"
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/overlap"
	"tagbus/bus/internal/request"
	"tagbus/bus/internal/sendqueue"
	"tagbus/bus/internal/workqueue"
	"tagbus/identity"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// source is the subscriber's side of one publisher: an entry of the directory
// and, while a subscription wants its tags, the connection to it.
//
// Everything here runs on the loop.
type source struct {
	contact  peerContact
	sub      *Subscriber
	met      time.Time      // when the first connection was ready
	vanished bool           // reported so
	fault    error          // why this side closes the connection, or has closed it
	who      *identity.Peer // that the transport has proved; nil without Access
	rights   tags.Set       // of which it may send messages, if there is Access
	incoming group.Rights   // of the next line
	granted  *tags.Set      // that this side may have of it, as it says; nil: all
	awaiting bool           // nothing is asked for before it has said that
	telling  bool           // what is wanted and not granted is being looked for
	barred   bool           // one side has not let the other one in, at the last try
	failure  error          // why the publisher ends, if it has said so: a *PeerFailedError
	pausing  int            // reasons not to read, see pause
	events   events.Conn
	out      sendqueue.Queue // control messages
	leaving  bool            // goodbye follows when all is sent
	seek     seek
	parted   bool      // goodbye is said; the connection is closed when it is sent
	toldAt   time.Time // when the publisher was last told how much was received
	spoken   bool      // a page has come on this connection
	pulse    heartbeat.Pulse
	share    workqueue.Share // of the subscriber's work queue

	wanting            *Subscription // one that wanted the publisher when wanted last looked
	seeking, seekAgain bool          // one that wants the publisher is being looked for; and then once more

	requests request.Asker[*Subscription]
	in       intake.Intake[target, gap]
	page     delivery // of the page that is being delivered

	served overlap.Publisher[*source]
}

func newSource(s *Subscriber) *source {
	src := &source{
		sub: s,
	}
	src.out = sendqueue.New(src.pause, src.resume)
	src.served.Source = src
	src.events = events.Conn{Pause: src.pause, Resume: src.resume}
	src.share = s.work.Share(src.pause, src.resume)
	src.requests = request.NewAsker(asking{src}, &s.subs, &s.work, &src.share)
	src.in = intake.New[target, gap](arriving{src}, &src.requests.Book, &s.second)
	s.dialer.Prepare(&src.contact.Contact, src)
	src.contact.report, src.contact.host = src.event, s.host
	src.page.origin.Init(s.retainer, src.keep)
	return src
}

// keep keeps the memory of the page that is being delivered.
func (src *source) keep() (netio.Retained, error) {
	if src.contact.ep == nil {
		return nil, netio.ErrNoMessage
	}
	return src.contact.ep.Retain()
}

// Open implements contact.User.
func (src *source) Open(addr netip.AddrPort) error {
	return src.contact.open(&src.sub.dialer, src.sub.backend, addr, netio.Params{
		Receive: netio.ReceiveParams{
			MaxMessageBytes:   frameBytes(src.contact.entry.PageBytes, src.contact.entry.MaxMessageBytes),
			FirstMessageBytes: subscription.MaxHelloBytes,
		},
		Buffered: netio.BufferedParams{Buffers: subscribeBuffers, BufferBytes: subscription.MaxControlBytes},
		Context:  src,
	})
}

// Woken implements contact.User.
func (src *source) Woken() {
	src.consider()
	if src.contact.Idle() {
		src.unlisted()
	}
}

// Tried implements contact.User: no subscription need wait for this publisher.
func (src *source) Tried(err error) {
	if err != nil {
		src.contact.reportRefusal(src.contact.explain(err))
	}
	if src.contact.Idle() {
		src.unlisted()
	}
	src.sought()
	src.sub.checkReady()
}

// HelloMissed implements contact.User.
func (src *source) HelloMissed() { src.fail(ErrHelloTimeout) }

// established says hello.
func (src *source) established(ep netio.Endpoint) {
	if !src.contact.established(ep) {
		return
	}
	src.fault = nil
	if err := src.enter(); err != nil { // before anything is said of this side
		src.bar(true)
		src.fail(err)
		return
	}
	hello, err := src.sub.helloTo(src.contact.entry.Instance, src.sub.heart.Interval())
	if err != nil {
		src.fail(err)
		return
	}
	src.out.Push(hello)
	src.pump()
}

// lost cleans up after a connection, and dials again.
func (src *source) lost(cause error) {
	wasReady := src.contact.closed()
	src.requests.Lost()
	if src.parted && errors.Is(cause, io.EOF) {
		cause = nil // the publisher has closed first
	}
	src.out.Drop()
	src.leaving, src.parted = false, false
	if wasReady {
		src.in.Heard(coarseclock.Of(src.pulse.Heard()))
	}
	src.sub.departed()
	if wasReady {
		src.sub.counters.publishers.Add(-1)
		src.sub.heart.Leave()
	}
	if src.sub.closed.Load() {
		return
	}
	if cause == nil {
		cause = src.fault
	}
	if !wasReady { // it never worked: try the next address
		if cause == nil {
			cause = io.EOF
		}
		src.contact.Refused(cause)
		return
	}
	src.reconsider() // if it has left the directory, others send its tags
	src.sub.gaps.Report()
	if cause != nil {
		src.sub.counters.broken.Add(1)
	}
	if !src.contact.ended || cause != nil {
		src.event(Event{Kind: Lost, Peer: src.contact.peer, Err: cause})
	}
	src.contact.Wait(0) // until the state of the connection is forgotten
	src.telling = false
	src.disconnect(src.goBack)
}

// goBack returns to dialing, or to being dialed, after the state of a connection is
// forgotten. Meanwhile the publisher may have come back or been forgotten.
func (src *source) goBack() {
	switch {
	case !src.contact.Waiting() || src.sub.sources[src.contact.entry.Instance] != src || src.sub.closed.Load():
	case src.sub.isDialed():
		src.await()
	default:
		src.contact.Retry()
	}
}

// unlisted forgets a publisher that is neither in the directory nor connected, unless
// it owes messages. These are counted if it comes back.
func (src *source) unlisted() {
	if src.contact.listed || src.contact.Pending() || src.sub.sources[src.contact.entry.Instance] != src {
		return
	}
	if src.requests.Forgetting() || src.seeking {
		return // unlisted is called again when that is done
	}
	if src.seeks() {
		return
	}
	src.contact.Rest()
	if src.requests.Owing() == 0 || src.contact.ended {
		src.sub.forget(src)
		return
	}
	src.vanish()
}

// vanish reports, once, that the publisher is gone for good without goodbye,
// unless it owes nothing.
func (src *source) vanish() {
	if !src.vanished && src.requests.Owing() > 0 && !src.contact.ended {
		src.vanished = true
		src.event(Event{Kind: Vanished, Peer: src.contact.peer, Tags: src.contact.entry.Tags, Err: src.failure})
	}
}

// fail ends the connection for a fault of the publisher.
func (src *source) fail(err error) {
	if src.fault != nil || src.contact.ep == nil {
		return
	}
	src.fault = err
	if src.contact.Ready() {
		src.event(Event{Kind: Problem, Peer: src.contact.peer, Err: err})
	}
	_ = src.contact.ep.Close()
}

// event reports e, which the publisher has caused.
func (src *source) event(e Event) { src.sub.events.Add(e, &src.events) }

// pause stops reading from the publisher until each pause is undone by a resume. A new
// connection begins paused if the last one was.
func (src *source) pause() {
	if src.pausing++; src.pausing == 1 && src.contact.Ready() && src.contact.ep != nil {
		src.contact.ep.PauseReceive()
	}
}

// resume undoes one pause.
func (src *source) resume() {
	if src.pausing--; src.pausing == 0 && src.contact.ep != nil {
		src.pulse.Excuse() // from here on
		src.contact.ep.ResumeReceive()
	}
}
