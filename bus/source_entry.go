// SPDX-License-Identifier: Apache-2.0

package bus

import (
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
	src.sub.duplicates.reconsider(src) // those that have had tags in common with it
	if !src.contact.Ready() {
		src.rights.Forget() // it may be another one now
	}
	src.update(e.Entry)
	steps = s.duplicates.meet(src)
	src.consider()
	s.duplicates.checkAll(src)
	if e.Kind == directory.Changed {
		s.checkReady()
	}
	src.sub.duplicates.reconsider(src)
	return steps + e.Entry.Tags.Parts()/setStepsPerStep
}

// Gone implements follow.User.
func (src *source) Gone() (steps int) {
	begun, awaited := src.sub.duplicates.index.Steps(), !src.contact.Idle() || src.requests.Len() > 0
	src.contact.listed, src.contact.gone = false, time.Now()
	src.sub.duplicates.reconsider(src)
	src.unlisted()
	src.sub.forgetOldest()
	if awaited {
		src.sub.checkReady()
	}
	return forgetSteps + src.sub.duplicates.index.Steps() - begun
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
	src.out.Open(ep, hello)
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
