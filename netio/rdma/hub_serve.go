// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"time"

	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

// serve implements reader.
func (h *hub) serve(d *fi.Drain) {
	c := &h.backend.crossing
	through := false
	defer func() {
		if !through && h.serving != nil { // its callback panicked
			h.serving.Fail(ErrCallbackPanicked)
			h.serving = nil
		}
	}()
	for c.next < c.end {
		done := &c.ring.Completed[c.next]
		c.next++
		h.completed(done)
	}
	if err := d.Err(); err != 0 {
		h.backend.warn("cannot read completions", "addr", h.addr, "err", err)
		for _, e := range h.users {
			e.breakDown("read completions", err)
		}
		h.backend.letRest(h)
	} else {
		h.backend.lookAgain(h, d)
	}
	through = true
}

// completed handles a completion.
func (h *hub) completed(done *fi.Completed) {
	slot := uint32(done.Context)
	switch kindOf(done.Context) {
	case kindLetter:
		h.delivered(slot, done.Err())
	case kindSend:
		if e := h.users[done.Context>>32&generation]; e != nil {
			e.sentOne(slot, done.Err())
		}
	case kindReceive:
		// Also if a callback panics. It is posted at the end of the step at the
		// earliest.
		defer h.postReceive(slot)
		switch {
		case done.Err() == 0:
			h.received(h.slots.message(slot, done.Len()))
		case done.Err() == fi.ETRUNC:
			h.backend.Counters.BadMessages.Add(1)
		default: // without its sender
			h.backend.warn("a message was lost", "addr", h.addr, "err", done.Err())
		}
	}
}

// received handles a message of another hub, or of a stranger.
func (h *hub) received(data []byte) {
	f, rest, ok := parseFrame(data)
	if !ok {
		h.backend.Counters.BadMessages.Add(1)
		return
	}
	if f.kind == frameHello {
		h.asked(f, rest)
		return
	}
	e := h.users[f.to&generation]
	if e == nil || e.number != f.to {
		return // it was another's, whose end has not got around yet
	}
	h.serving = e
	if !e.heard(f, rest) {
		h.backend.Counters.BadMessages.Add(1)
	}
	h.serving = nil
}

// asked handles a hello.
func (h *hub) asked(f frame, rest []byte) {
	b, l := h.backend, h.listener
	peer, ok := parseGreeting(rest[:greetingBytes])
	if !ok {
		b.Counters.BadMessages.Add(1)
		return
	}
	if h.addresses[string(rest[greetingBytes:])] == nil && h.isCrowded() {
		b.Counters.AcceptShed.Add(1)
		return
	}
	from, err := h.useAddress(rest[greetingBytes:])
	if err != nil {
		b.Counters.BadMessages.Add(1)
		return
	}
	defer h.dropAddress(from)
	for _, e := range h.users {
		if e.to == f.value && e.peerAddr == from && !e.active { // asked again
			h.mail(e, from, frame{frameAccept, f.value, e.number}, e.greeting().marshal())
			return
		}
	}
	switch {
	case l == nil || l.IsClosed():
	case int(b.siblings.accepted.Load()) >= b.config.MaxEndpoints:
		b.shed(b.addrOf([]byte(from.raw)))
	default:
		e, err := l.acceptBond(peer, f.value, from.raw)
		if err == nil {
			b.refusals.served(b.config.Logger)
			h.mail(e, e.peerAddr, frame{frameAccept, f.value, e.number}, e.greeting().marshal())
			return
		}
		b.Counters.AcceptErrors.Add(1)
		b.refusals.refused(b.config.Logger, time.Now(), b.addrOf([]byte(from.raw)), err)
		if e != nil {
			e.end(nil)
		}
	}
	h.mail(nil, from, frame{frameReject, f.value, 0})
}

// acceptBond makes an endpoint for a peer that asks for one, and calls it number. Errors:
// the system's, *fi.Error; then the endpoint may be there.
func (l *listenEndpoint) acceptBond(peer greeting, number uint64, raw string) (*endpoint, error) {
	b := l.backend
	e, err := newEndpoint(b, connectionAddr(b.addrOf([]byte(raw)), number&generation), &l.params)
	if err != nil {
		return nil, err
	}
	e.listener, e.peer, e.to = l, peer, number
	b.siblings.accepted.Add(1)
	b.add(e)
	if err := e.join(l.hub, []byte(raw)); err != nil {
		return e, err
	}
	e.limit.F = func() { e.notConnected(netio.ErrTimeout) }
	b.Alarms.Set(&e.limit, acceptTimeout)
	return e, nil
}
