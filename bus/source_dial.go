// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"time"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/tagset"
	"tagbus/bus/internal/workqueue"
	"tagbus/identity"
	"tagbus/netio"
	"tagbus/subscription"
)

// dialing decides whether and when a subscriber dials a publisher: if a subscription wants
// what that serves, and for some time if it owes messages and is not in the directory any
// more. It implements dialer.User.
type dialing struct {
	src *source

	wanting workqueue.Finder[*subscriptionImpl] // of a subscription that wants the publisher
	seek    dialer.Search
}

// Open implements dialer.User.
func (d *dialing) Open(to dialer.Target) error {
	return d.src.contact.Open(&d.src.sub.dialer, to, netio.Params{
		Receive: netio.ReceiveParams{
			MaxMessageBytes:   frameBytes(d.src.contact.Entry.PageBytes, d.src.contact.Entry.MaxMessageBytes),
			FirstMessageBytes: subscription.MaxHelloBytes,
		},
		Buffered: netio.BufferedParams{Buffers: subscribeBuffers, BufferBytes: subscription.MaxControlBytes},
		Context:  d.src,
	})
}

// Woken implements dialer.User.
func (d *dialing) Woken() {
	d.src.consider()
	if d.src.contact.Idle() {
		d.src.unlisted()
	}
}

// Tried implements dialer.User: no subscription need wait for this publisher.
func (d *dialing) Tried(err error) {
	if err != nil {
		d.src.contact.Failed(err)
	}
	if d.src.contact.Idle() {
		d.src.unlisted()
	}
	d.sought()
	d.src.sub.checkReady()
}

// HelloMissed implements dialer.User.
func (d *dialing) HelloMissed() { d.src.fail(ErrHelloTimeout) }

// look dials if some subscription wants the publisher's tags.
func (d *dialing) look() {
	if !d.may() {
		return
	}
	look := func(sub *subscriptionImpl) (meets bool, steps int) { return d.src.needs(sub), asking{d.src}.Cost(sub) }
	d.wanting.Look(&d.src.sub.work, &d.src.sub.subs, look, func(found bool) {
		if found {
			d.begin()
		}
		if d.src.contact.Idle() {
			d.src.unlisted()
		}
	})
}

// begin dials for a subscription that the publisher concerns.
func (d *dialing) begin() {
	if d.src.contact.Idle() && d.may() && d.src.sub.sources[d.src.contact.Entry.Instance] == d.src && d.src.contact.Speakable(d.fits()) {
		d.src.contact.Dial()
	}
}

// Wanted implements dialer.User.
func (d *dialing) Wanted() bool { return d.may() && d.wanting.Any(&d.src.sub.subs, d.src.needs) }

// may reports whether the publisher may be dialed.
func (d *dialing) may() bool {
	return (d.src.contact.Listed || d.seek.On()) && !d.src.contact.Ended
}

// fits returns why the publisher's messages do not fit this subscriber, or nil.
func (d *dialing) fits() error {
	entry, most := &d.src.contact.Entry, d.src.sub.cfg.MaxMessageBytes
	if need := frameBytes(entry.PageBytes, entry.MaxMessageBytes); need > most {
		return &SizeError{Sends: need, Takes: most, text: fmt.Sprintf("bus: publisher sends up to %d bytes at once, this subscriber receives %d: raise SubscriberConfig.MaxMessageBytes", need, most)}
	}
	return nil
}

// seeks begins to seek a publisher that is neither in the directory nor connected, if it
// owes messages, and reports whether it is being sought.
func (d *dialing) seeks() bool {
	if d.seek.On() && d.src.contact.Waiting() {
		return true
	}
	if d.seek.On() { // nothing is wanted of it any more
		d.seek.End()
	}
	if d.seek.Done() || d.src.sub.isDialed() || d.src.requests.Owing() == 0 || d.src.contact.Ended || d.src.vanished {
		return false
	}
	d.seek.Begin(d.src.contact.Refusal != "")
	d.src.contact.Wait(d.src.sub.cfg.ReconnectMin)
	return true
}

// sought notes that a try to connect has failed.
func (d *dialing) sought() {
	if d.seek.On() && !d.src.contact.Listed && d.src.contact.Waiting() && d.seek.Failed() {
		d.src.unlisted()
	}
}

// Take implements discovery.User.
func (src *source) Take(e directory.Event) (steps int) {
	s := src.sub
	s.duplicates.Reconsider(&src.served) // those that have had tags in common with it
	if !src.contact.Ready() {
		src.rights.Forget() // it may be another one now
	}
	src.update(e.Entry)
	steps = s.duplicates.Meet(&src.served)
	src.consider()
	s.duplicates.CheckAll(&src.served)
	if e.Kind == directory.Changed {
		s.checkReady()
	}
	s.duplicates.Reconsider(&src.served)
	return steps + e.Entry.Tags.Parts()/tagset.StepsPerStep
}

// Gone implements discovery.User.
func (src *source) Gone() (steps int) {
	begun, awaited := src.sub.duplicates.Steps(), !src.contact.Idle() || src.requests.Len() > 0
	src.contact.Listed, src.contact.Gone = false, time.Now()
	src.sub.duplicates.Reconsider(&src.served)
	src.unlisted()
	src.sub.absent.Left()
	if awaited {
		src.sub.checkReady()
	}
	return forgetSteps + src.sub.duplicates.Steps() - begun
}

// update takes over the directory entry of the publisher.
func (src *source) update(e directory.Entry) {
	src.contact.List(e)
	src.served.Update(e.Instance, e.Tags, e.Since)
}

// isDialed reports whether publishers dial this subscriber, as no directory lists them.
func (s *subscriberImpl) isDialed() bool { return s.role == subscription.RoleReceiver }

// accept takes over a connection that a publisher has dialed, after its hello. The
// publisher's earlier connection, if any, has ended. Loop only.
func (s *subscriberImpl) accept(ep netio.Endpoint, h subscription.Hello, who *identity.Peer) {
	src := s.sources[h.Instance]
	if src == nil {
		src = newSource(s)
		s.sources[h.Instance] = src
	}
	entry := directory.Entry{Instance: h.Instance, Name: h.Name, Host: h.Host, PID: h.PID}
	for sub := range s.subs.All {
		entry.Tags = entry.Tags.Union(sub.live) // it sends what we want
	}
	src.update(entry)
	src.contact.TakeDialed(ep)
	src.fault, src.spoken = nil, false
	src.in.Greeted(h.MaxMessageBytes == subscription.TakesDropped)
	ep.SetContext(src)
	src.permit(who, acl.Send)
	every := s.heart.Stretched(int(s.counters.publishers.Load()) + 1)
	hello, err := s.helloTo("", every)
	if err != nil {
		src.fail(err)
		return
	}
	src.out.Open(ep, hello)
	src.pulse.Begin(&s.heart, ep, every, h.BeatMillis)
	src.ready()
}

// await gives a publisher that has gone without goodbye some time to dial again. No
// directory shows when it is gone for good.
func (src *source) await() {
	src.contact.Listed, src.contact.Gone = false, time.Now()
	src.contact.Rest()
	if src.requests.Owing() == 0 || src.contact.Ended {
		src.unlisted()
		return
	}
	src.contact.Wait(senderAbsence)
	src.sub.absent.Left()
}
