// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"net/netip"

	"tagbus/bus/internal/admission"
	"tagbus/bus/internal/door"
	"tagbus/bus/internal/reception"
	"tagbus/netio"
	"tagbus/subscription"
)

// receiverHandler is a Receiver as its backend sees it: a subscriber that is dialed. Every
// method runs on the loop.
type receiverHandler struct {
	subscriberHandler // for what does not depend on which side dials
	r                 *receiverImpl
}

// OnConnectionEstablished implements netio.Handler.
func (h receiverHandler) OnConnectionEstablished(ep netio.Endpoint) { h.r.sub.desk.Greet(ep) }

// OnConnectionRefused implements netio.Handler. A receiver does not dial.
func (receiverHandler) OnConnectionRefused(netip.AddrPort, error) {}

// OnConnectionClosed implements netio.Handler.
func (h receiverHandler) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	h.r.seats.Leave(ep)
	if src, ok := ep.Context().(*source); ok && h.r.leaving && !src.out.Leaving() {
		h.r.cutOff++
	}
	h.subscriberHandler.OnConnectionClosed(ep, keys, cause)
	h.r.noteLeft()
}

// ended returns ErrClosed if the receiver drains or is closed, and otherwise nil.
func (r *receiverImpl) ended() error {
	if r.draining.Load() {
		return ErrClosed
	}
	return nil
}

// enter makes a guest a sender, or returns why not.
func (r *receiverImpl) enter(g *reception.Guest) error {
	h := &g.Hello
	src := r.sub.sources[h.Instance]
	switch {
	case h.Role != subscription.RoleSender:
		return fmt.Errorf("%w: this is a receiver, which takes connections of senders", ErrProtocol)
	case h.MaxMessageBytes < subscription.MaxControlBytes:
		return fmt.Errorf("%w: sender receives at most %d bytes at once, want %d", ErrProtocol, h.MaxMessageBytes, subscription.MaxControlBytes)
	case src != nil && !door.Same(src.rights.Peer(), g.Who.Identity()):
		return errTakenInstance
	case r.draining.Load():
		return ErrClosed
	case src != nil && src.contact.Ep != nil:
		// The sender has lost a connection that is still open here. Its next try
		// succeeds once that connection has ended here too.
		src.fail(ErrReplaced)
		return ErrReplaced
	}
	if err := r.makeRoom(g.Ep); err != nil {
		return err
	}
	r.sub.accept(g.Ep, *h, g.Who.Identity())
	return nil
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
