// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"net/netip"

	"tagbus/acl"
	"tagbus/bus/internal/admission"
	"tagbus/bus/internal/door"
	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/observe"
	"tagbus/netio"
	"tagbus/subscription"
)

// receiverHandler is a Receiver as its backend sees it: a subscriber that is
// dialed. Every method runs on the loop.
type receiverHandler struct {
	subscriber subscriberHandler
	r          *receiverImpl
}

// guest is a connection whose peer has not said hello yet, or is being refused.
type guest struct {
	ep       netio.Endpoint
	peer     *Peer
	who      door.Peer          // which one it is
	deadline heartbeat.Deadline // for the hello
	leaving  bool               // a last message is on its way
}

// OnConnectionEstablished implements netio.Handler.
func (h receiverHandler) OnConnectionEstablished(ep netio.Endpoint) {
	g := &guest{ep: ep, peer: &Peer{Addr: ep.Remote()}}
	ep.SetContext(g)
	g.deadline.Await(&h.r.sub.alarms, helloTimeout, func() { h.r.drop(g, ErrHelloTimeout) })
	h.r.greet(g)
}

// OnConnectionRefused implements netio.Handler. A receiver does not dial.
func (receiverHandler) OnConnectionRefused(netip.AddrPort, error) {}

// OnConnectionClosed implements netio.Handler.
func (h receiverHandler) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	if g, ok := ep.Context().(*guest); ok {
		g.deadline.Met()
		h.r.guests.Leave(g)
		return
	}
	if o, ok := ep.Context().(*observe.Observer); ok {
		o.Closed()
		return
	}
	h.r.seats.Leave(ep)
	if src := ep.Context().(*source); h.r.leaving && !src.out.Leaving() {
		h.r.cutOff++
	}
	h.subscriber.OnConnectionClosed(ep, keys, cause)
	h.r.noteLeft()
}

// OnData implements netio.Handler.
func (h receiverHandler) OnData(ep netio.Endpoint, data []byte) {
	switch x := ep.Context().(type) {
	case *guest:
		h.r.onHello(x, data)
	case *observe.Observer:
		x.Data(data)
	default:
		h.subscriber.OnData(ep, data)
	}
}

// OnDataParts implements netio.PartsHandler.
func (h receiverHandler) OnDataParts(ep netio.Endpoint, head, data []byte) (taken bool) {
	_, ours := ep.Context().(*source)
	return ours && h.subscriber.OnDataParts(ep, head, data)
}

// OnSendCompleted implements netio.Handler.
func (h receiverHandler) OnSendCompleted(c netio.Completion) {
	switch x := c.Endpoint.Context().(type) {
	case *guest:
		_ = x.ep.Close() // its last message is sent
	case *observe.Observer:
		x.Sent()
	default:
		h.subscriber.OnSendCompleted(c)
	}
}

// OnSendReady implements netio.Handler.
func (h receiverHandler) OnSendReady(ep netio.Endpoint) {
	switch x := ep.Context().(type) {
	case *guest: // it has a buffer for its only message
	case *observe.Observer:
		x.SendReady()
	default:
		h.subscriber.OnSendReady(ep)
	}
}

// onHello decides whether the peer may send.
func (r *receiverImpl) onHello(g *guest, data []byte) {
	if g.leaving || r.sub.closed.Load() {
		return
	}
	g.deadline.Met()
	h, err := subscription.DecodeHello(data)
	if errors.Is(err, subscription.ErrMagic) { // a stranger gets no answer
		r.drop(g, err)
		return
	}
	observes := h.Role == subscription.RoleObserver
	action := acl.Send
	if observes {
		action = acl.Describe
	}
	var refused error
	if g.who, refused = r.sub.door.Enter(g.ep, action); refused != nil { // before anything is said of this side
		r.refuse(g, refused)
		return
	}
	if version := (*subscription.VersionError)(nil); errors.As(err, &version) {
		answer, helloErr := r.sub.helloTo("", r.sub.heart.Interval())
		r.leave(g, answer, errors.Join(err, helloErr))
		return
	}
	g.peer = peerOf(h, g.ep)
	if err == nil {
		err = meant(h, r.sub.instance)
	}
	switch {
	case err != nil:
	case observes:
		err = r.observe(g, h)
	default:
		err = r.admit(g, h)
	}
	if err != nil {
		r.refuse(g, err)
		return
	}
	if observes {
		return // it is no guest any more
	}
	r.guests.Leave(g)
	r.sub.accept(g.ep, h, g.who.Identity())
}

// refuse closes a connection once the peer was told why.
func (r *receiverImpl) refuse(g *guest, err error) {
	refused, refusedErr := subscription.Append(nil, refusal(0, err))
	r.leave(g, refused, errors.Join(err, refusedErr))
}

// admit returns why a peer may not send, or nil.
func (r *receiverImpl) admit(g *guest, h subscription.Hello) error {
	src := r.sub.sources[h.Instance]
	switch {
	case h.Role != subscription.RoleSender:
		return fmt.Errorf("%w: this is a receiver, which takes connections of senders", ErrProtocol)
	case h.MaxMessageBytes < subscription.MaxControlBytes:
		return fmt.Errorf("%w: sender receives at most %d bytes at once, want %d", ErrProtocol, h.MaxMessageBytes, subscription.MaxControlBytes)
	case src != nil && !door.Same(src.rights.Peer(), g.who.Identity()):
		return errTakenInstance
	case r.draining.Load():
		return ErrClosed
	case src != nil && src.contact.ep != nil:
		// The sender has lost a connection that is still open here. Its next try
		// succeeds once that connection has ended here too.
		src.fail(ErrReplaced)
		return ErrReplaced
	}
	return r.makeRoom(g.ep)
}

// leave closes a connection once a last message is sent.
func (r *receiverImpl) leave(g *guest, last []byte, reason error) {
	g.leaving = true
	b, err := g.ep.Buffer()
	if err == nil {
		if _, err = b.Write(last); err == nil {
			err = g.ep.SendBuffer(b)
		}
		if err != nil {
			b.Release()
		}
	}
	if err != nil {
		r.drop(g, errors.Join(reason, err))
		return
	}
	if e, tell := refusedEvent(&r.sub.door, reason, g.peer, g.who.Identity()); tell {
		r.sub.event(e)
	}
}

// drop closes a connection without a message.
func (r *receiverImpl) drop(g *guest, reason error) {
	r.sub.event(Event{Kind: Refused, Peer: g.peer, Err: reason})
	_ = g.ep.Close()
}

// greet notes a new connection. If there are too many peers without hello, or with an
// unread refusal, the oldest one gives way.
func (r *receiverImpl) greet(g *guest) {
	most := max(minGuests, r.cfg.MaxSenders)
	oldest, gaveWay := r.guests.Greet(g, most)
	if !gaveWay {
		return
	}
	oldest.deadline.Met()
	if oldest.leaving {
		_ = oldest.ep.Close() // the reason was sent to it, and it did not read that
		return
	}
	r.drop(oldest, fmt.Errorf("%w: %d have not said hello", ErrGaveWay, most))
}

// makeRoom takes a place for a sender. One that has sent nothing may give way.
//
// Errors: ErrTooManySenders, wrapped.
func (r *receiverImpl) makeRoom(ep netio.Endpoint) error {
	limits := admission.Limits{All: r.cfg.MaxSenders, Host: shareOfHost(r.cfg.MaxSenders)}
	way, gaveWay, full := r.seats.Take(ep, ep.Remote().Addr().Unmap(), limits, nil, func(ep netio.Endpoint) bool {
		src := ep.Context().(*source)
		return src.fault == nil && !src.spoken
	})
	if full != nil {
		return tooMany(ErrTooManySenders, full, "ReceiverConfig.MaxSenders")
	}
	r.seats.Idle(ep)
	if gaveWay {
		way.Context().(*source).fail(ErrGaveWay)
	}
	return nil
}

// observe makes the connection of a guest an observer.
func (r *receiverImpl) observe(g *guest, h subscription.Hello) error {
	if err := observable(h); err != nil {
		return err
	}
	if r.draining.Load() {
		return ErrClosed
	}
	hello, err := r.sub.helloTo("", 0)
	if err != nil {
		return err
	}
	r.guests.Leave(g)
	r.observers.Enter(g.ep, hello, watching{g.peer, g.who.Identity()})
	return nil
}
