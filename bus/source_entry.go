// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"time"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/identity"
	"tagbus/netio"
	"tagbus/subscription"
)

// Take implements follow.User.
func (src *source) Take(e directory.Event) (steps int) {
	s := src.sub
	src.reconsider() // those that have had tags in common with it
	if !src.contact.Ready() {
		src.who = nil // it may be another one now
	}
	src.update(e.Entry)
	steps = src.meet()
	src.consider()
	src.checkAllDuplicates()
	if e.Kind == directory.Changed {
		s.checkReady()
	}
	src.reconsider()
	return steps + e.Entry.Tags.Parts()/setStepsPerStep
}

// Gone implements follow.User.
func (src *source) Gone() (steps int) {
	begun, awaited := src.sub.index.Steps(), !src.contact.Idle() || src.requests.Len() > 0
	src.contact.listed, src.contact.gone = false, time.Now()
	src.reconsider()
	src.unlisted()
	src.sub.forgetOldest()
	if awaited {
		src.sub.checkReady()
	}
	return forgetSteps + src.sub.index.Steps() - begun
}

// fits returns why the publisher's messages do not fit this subscriber, or nil.
func (src *source) fits() error {
	entry, most := &src.contact.entry, src.sub.cfg.MaxMessageBytes
	if need := frameBytes(entry.PageBytes, entry.MaxMessageBytes); need > most {
		return fmt.Errorf("bus: publisher sends up to %d bytes at once, this subscriber receives %d: raise SubscriberConfig.MaxMessageBytes", need, most)
	}
	return nil
}

// update takes over the directory entry of the publisher.
func (src *source) update(e directory.Entry) {
	src.contact.list(e)
	src.served.Update(e.Instance, e.Tags, e.Since)
}

// isDialed reports whether publishers dial this subscriber, as no directory lists them.
func (s *Subscriber) isDialed() bool { return s.role == subscription.RoleReceiver }

// accept takes over a connection that a publisher has dialed, after its hello. The
// publisher's earlier connection, if any, has ended. Loop only.
func (s *Subscriber) accept(ep netio.Endpoint, h subscription.Hello, who *identity.Peer) {
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
	src.contact.accepted(ep)
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
	src.out.Push(hello)
	src.pump()
	src.pulse.Begin(&s.heart, ep, every, h.BeatMillis)
	src.ready()
}

// await gives a publisher that has gone without goodbye some time to dial again. No
// directory shows when it is gone for good.
func (src *source) await() {
	src.contact.listed, src.contact.gone = false, time.Now()
	src.contact.Rest()
	if src.requests.Owing() == 0 || src.contact.ended {
		src.unlisted()
		return
	}
	src.contact.Wait(senderAbsence)
	src.sub.forgetOldest()
}

// A publisher that leaves the directory may be ending, and wait for subscribers whose
// connections are just lost. So a publisher that owes messages is sought before it is
// given up: its last addresses are dialed a few times.
const (
	maxSeeks = 3
	seekTime = 2 * time.Second // after which there is no other try
)

// seek is the search for a publisher that is not in the directory.
type seek struct {
	on    bool
	done  bool // in vain
	tries int
	begun time.Time
}

// seeks begins to seek a publisher that is neither in the directory nor connected, and
// reports whether it is being sought.
func (src *source) seeks() bool {
	if src.seek.on && src.contact.Waiting() {
		return true
	}
	if src.seek.on { // nothing is wanted of it any more
		src.seek.on, src.seek.done = false, true
	}
	if src.seek.done || src.sub.isDialed() || src.requests.Owing() == 0 || src.contact.ended || src.vanished {
		return false
	}
	src.seek = seek{on: true, begun: time.Now()}
	if src.contact.refusal != "" { // it has been dialed in vain already
		src.seek.tries = maxSeeks - 1
	}
	src.contact.Wait(src.sub.cfg.ReconnectMin)
	return true
}

// sought notes that a try to connect has failed.
func (src *source) sought() {
	if !src.seek.on || src.contact.listed || !src.contact.Waiting() {
		return
	}
	if src.seek.tries++; src.seek.tries >= maxSeeks || time.Since(src.seek.begun) > seekTime {
		src.seek.on, src.seek.done = false, true
		src.unlisted()
	}
}
