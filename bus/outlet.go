// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"net/netip"

	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/ways"
	"tagbus/netio"
	"tagbus/subscription"
)

// outlet is a sender's side of one receiver: an entry of the directory and, once the
// sender uses one of its tags, the connection to it. The connection is a link like that
// of a publisher, except that this side dials.
//
// Everything here runs on the loop.
type outlet struct {
	contact peerContact
	sender  *senderImpl
	link    *link
	used    bool   // one of its tags has been used
	alarmed string // about another receiver of the same tags
	missing bool   // its connection was lost: it may be dead, and its entry stale
}

func newOutlet(s *senderImpl) *outlet {
	out := &outlet{sender: s}
	s.dialer.Prepare(&out.contact.Contact, out)
	out.contact.Init(&s.pub.own, &words, func(peer *Peer, why error) { s.pub.event(Event{Kind: Refused, Peer: peer, Err: why}) })
	return out
}

// Take implements discovery.User.
func (out *outlet) Take(e directory.Event) (steps int) {
	out.contact.List(e.Entry)
	out.notePassed()
	out.used = out.sender.pub.fan.Published(e.Entry.Tags)
	out.consider()
	return out.sender.considerSteps()
}

// Gone implements discovery.User.
func (out *outlet) Gone() (steps int) {
	out.contact.Listed = false
	out.unlisted()
	return 1
}

// Open implements dialer.User.
func (out *outlet) Open(to dialer.Target) error {
	p := out.sender.pub.params()
	p.Context = out
	return out.contact.Open(&out.sender.dialer, to, p)
}

// Wanted implements dialer.User.
func (out *outlet) Wanted() bool {
	return out.contact.Listed && (!out.sender.ended.Load() || out.sender.pub.mayReturn(out.contact.Entry.Instance)) && (out.used || out.sender.wants.Load().Intersects(out.contact.Entry.Tags))
}

// consider dials if a connection is wanted.
func (out *outlet) consider() {
	if !out.contact.Idle() || !out.Wanted() || !out.contact.Speakable(out.fits()) {
		return
	}
	p := out.sender.pub
	p.fan.Mu.Lock()
	duplicate := out.sender.owners.duplicate(nil, out.contact.Entry.Tags)
	p.fan.Mu.Unlock()
	if duplicate != nil && !out.missing { // otherwise its answer decides
		duplicate.Second = out.contact.Describe()
		out.report(duplicate)
		return // until the other receiver goes
	}
	out.contact.Dial()
}

// Woken implements dialer.User.
func (out *outlet) Woken() {
	out.consider()
	if out.contact.Idle() {
		out.unlisted()
	}
}

// Tried implements dialer.User.
func (out *outlet) Tried(err error) {
	if err != nil {
		out.contact.Failed(err)
	}
	if out.contact.Idle() {
		out.unlisted()
	}
}

// unlisted forgets a receiver that is neither in the directory nor connected.
func (out *outlet) unlisted() {
	if out.contact.Listed || out.contact.Pending() {
		return
	}
	out.contact.Rest()
	delete(out.sender.outlets, out.contact.Entry.Instance)
}

// HelloMissed implements dialer.User.
func (out *outlet) HelloMissed() { out.fail(ErrHelloTimeout) }

// fail closes the connection.
func (out *outlet) fail(err error) {
	if out.link.fault == nil {
		out.link.fault = err
	}
	_ = out.contact.Ep.Close()
}

// fits returns why the sender's messages do not fit the receiver, or nil.
func (out *outlet) fits() error {
	cfg := &out.sender.pub.cfg
	if need := frameBytes(cfg.PageBytes, cfg.MaxMessageBytes); need > out.contact.Entry.MaxMessageBytes {
		takes := out.contact.Entry.MaxMessageBytes
		return &SizeError{Sends: need, Takes: takes, text: fmt.Sprintf("bus: sender sends up to %d bytes at once, receiver takes %d: raise ReceiverConfig.MaxMessageBytes", need, takes)}
	}
	return nil
}

// established says hello.
func (out *outlet) established(ep netio.Endpoint) {
	if !out.contact.Take(ep) {
		return
	}
	p := out.sender.pub
	l := p.newLink(ep)
	l.dialed, out.link = true, l
	p.users.Add(1)
	p.take(l)
	out.sender.dialed[l] = out
	if err := out.enter(); err != nil { // before anything is said of this side
		out.fail(err)
		return
	}
	hello, err := p.helloTo(out.contact.Entry.Instance, p.heart.Interval())
	if err != nil {
		out.fail(err)
		return
	}
	l.out.SendBytes(hello)
}

// enter notes which receiver a connection is to, and returns why it gets no messages, or
// nil.
//
// Errors: those of Access.Identify; *AccessError; *SignerError.
func (out *outlet) enter() error {
	p := out.sender.pub
	who, err := p.meet(&out.contact, p.action)
	if out.link.who = who; err != nil {
		return err
	}
	return who.Whole(out.contact.Entry.Tags)
}

// onHello handles the receiver's first message: its hello, or the reason of a refusal.
func (out *outlet) onHello(data []byte) {
	h, err := answerOf(data, out.contact.Entry.Instance, subscription.RoleReceiver)
	if err == nil {
		err = out.link.who.Again()
	}
	if err == nil {
		err = out.sender.pub.admit(out.link, h)
	}
	if err != nil {
		out.fail(err)
		return
	}
	out.link.peer = peerOf(h, out.contact.Ep)
	out.link.admitted(out.sender.pub.heart.Following(h.BeatMillis), h.BeatMillis)
	out.contact.Welcome()
	out.notePassed()
	out.link.event(Event{Kind: Connected, Peer: out.link.peer})
}

// lost cleans up after a connection, and dials again.
func (out *outlet) lost(cause error) {
	wasReady := out.contact.Lose()
	if cause == nil {
		cause = out.link.fault
	}
	expelled := errors.As(out.link.fault, new(*DuplicateError))
	delete(out.sender.dialed, out.link)
	out.link = nil
	switch {
	case out.sender.pub.closer.Begun():
	case wasReady:
		out.missing = !expelled
		out.contact.Retry()
	default: // it never worked: try the next address
		out.contact.NeverReady(cause)
	}
}

// report reports two receivers of a tag, once for all tries that end the same way.
func (out *outlet) report(duplicate *DuplicateError) {
	if text := duplicate.Error(); text != out.alarmed {
		out.alarmed = text
		out.sender.pub.event(Event{Kind: Duplicate, Peer: duplicate.Second, Other: duplicate.First, Tags: duplicate.Tags, Err: duplicate})
	}
}

// senderHandler is a Sender as its backend sees it: a publisher that dials. Every
// method runs on the loop.
type senderHandler struct {
	publisherHandler // for what does not depend on which side dials
	sender           *senderImpl
}

// OnConnectionEstablished implements netio.Handler.
func (h senderHandler) OnConnectionEstablished(ep netio.Endpoint) {
	ep.Context().(*outlet).established(ep)
}

// OnConnectionRefused implements netio.Handler.
func (h senderHandler) OnConnectionRefused(addr netip.AddrPort, err error) {
	h.sender.dialer.Refused(h.sender.pub.own.Backends.Refused(addr, err), err)
}

// OnConnectionClosed implements netio.Handler.
func (h senderHandler) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, cause error) {
	l, ours := ep.Context().(*link)
	if !ours { // a connection to another address was faster
		if !h.closer.Begun() {
			h.sender.dialer.Freed(ways.TargetOf(ep))
		}
		return
	}
	l.pub.closed(l, cause, func() {
		h.sender.dialed[l].lost(cause)
		h.sender.freed()
	})
}

// OnData implements netio.Handler.
func (h senderHandler) OnData(ep netio.Endpoint, data []byte) {
	if l := ep.Context().(*link); l.state == linkHello {
		h.sender.dialed[l].onHello(data)
		return
	}
	h.publisherHandler.OnData(ep, data)
}
