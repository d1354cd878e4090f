// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"bytes"
	"io"
	"math/rand/v2"
	"syscall"
	"time"

	"tagbus/netio"
)

// bond takes the place of a connection of libfabric for an endpoint that goes through
// a hub.
//
// It begins with hello, accept and ready: each side sends the number by which it knows
// the other, and its greeting. Data messages are numbered: they are
// delivered in order whatever the order of arrival, though hubs ask the fabric for
// none (FI_ORDER_SAS is what the providers keep all the same, but their receives
// may complete in another). It ends with goodbye, which is answered by gone, so
// that both sides know that the other sends no more.
type bond struct {
	hub      *hub
	peerAddr *peerAddr
	to       uint64            // its number at the other side; 0: not known yet
	letters  int               // of it that are not sent yet
	expected uint64            // number of the next message
	early    map[uint64][]byte // messages that came before their turn
	total    uint64            // messages that the other side has sent, if peerGone
	before   state             // of parting
	cause    error             // of the end
	since    time.Time         // when sends were last refused; zero: some have ended since
	owesGone bool              // the answer to goodbye
	gone     bool              // the other side sends no more, or does not say
	spoiled  bool              // there are sends that never ended
}

// join makes e one of the endpoints of h, for the hub at raw. What was made is
// undone by leaveHub, also after an error. Errors: the system's, *fi.Error.
func (e *endpoint) join(h *hub, raw []byte) (err error) {
	b := e.backend
	e.hub, e.device, e.handle = h, h.device, h.handle
	e.queue.prefix = frameBytes
	b.contexts++
	e.number = rand.Uint64()&^generation | b.contexts&generation // it need not be secret
	for h.users[e.number&generation] != nil || e.number == 0 {
		b.contexts++
		e.number = rand.Uint64()&^generation | b.contexts&generation
	}
	h.users[e.number&generation] = e
	if e.peerAddr, err = h.useAddress(raw); err != nil {
		return err
	}
	if err := e.openSend(); err != nil {
		return err
	}
	limits := h.device.limits
	e.inject = limits.InjectBytes
	e.depth = uint64(max(1, min(b.sizesOf(&e.params).tx, limits.TxSize)-creditSends))
	e.window = sharedWindow
	if own := b.ownReceives(&e.params); own > 0 {
		e.window = own - creditReceives
	}
	e.ownQuantum = quantumOf(e.window)
	return nil
}

// hello begins to connect without connection.
func (e *endpoint) hello() error {
	h, err := e.backend.dialHub(e.Remote(), &e.params)
	if err != nil {
		return err
	}
	if err := e.join(h, e.backend.rawOf(e.Remote())); err != nil {
		return err
	}
	e.ask()
	return nil
}

// askTime is the pause after which a hello is sent again: the provider may have
// written it to a connection underneath whose other side is no more.
const askTime = 500 * time.Millisecond

// ask says hello, and again until there is an answer.
func (e *endpoint) ask() {
	if e.state != connecting {
		return
	}
	e.retry.F = e.ask
	e.backend.Alarms.Set(&e.retry, askTime)
	e.hub.mail(e, e.peerAddr, frame{frameHello, 0, e.number}, e.greeting().marshal(), e.hub.name)
}

// heard handles what the other side has sent, and returns false for what it cannot
// have meant.
func (e *endpoint) heard(f frame, rest []byte) bool {
	switch f.kind {
	case frameHello: // is the hub's
	case frameAccept:
		return e.heardAccept(f, rest)
	case frameReject:
		if e.state == connecting && e.active {
			e.notConnected(syscall.ECONNREFUSED)
		}
	case frameReady:
		e.heardReady()
	case frameData:
		e.heardReady()
		return e.arrived(f.value, rest)
	case frameCredit:
		if f.value > uint64(e.peer.window) {
			return false
		}
		e.credits += int(f.value)
		e.Schedule(toSettle)
	case frameGoodbye:
		e.heardGoodbye(f.value)
	case frameGone:
		e.gone = true
		e.Schedule(toSettle)
	}
	return true
}

func (e *endpoint) heardAccept(f frame, rest []byte) bool {
	peer, ok := parseGreeting(rest)
	switch {
	case e.active && e.state != connecting && f.value != e.to: // an answer to a hello that was sent twice
		e.hub.mail(nil, e.peerAddr, frame{frameGoodbye, f.value, 0})
		return true
	case e.state != connecting || !e.active:
		return false
	case !ok:
		e.notConnected(ErrIncompatible)
		return false
	}
	e.to, e.peer = f.value, peer
	e.backend.Alarms.Cancel(&e.retry)
	if err := e.establish(peer); err != nil {
		e.notConnected(err)
		return true
	}
	e.hub.mail(e, e.peerAddr, frame{frameReady, e.to, 0})
	return true
}

// heardReady is the end of connecting on the accepting side.
func (e *endpoint) heardReady() {
	if e.state != connecting || e.active {
		return
	}
	if err := e.establish(e.peer); err != nil {
		e.notConnected(err)
	}
}

// arrived handles message n. false: the other side has sent more than it may, or
// what makes no sense.
func (e *endpoint) arrived(n uint64, data []byte) bool {
	switch {
	case e.state != established && e.state != reported || e.IsClosed():
		return true // too late
	case len(data) > e.params.Receive.MaxMessageBytes:
		e.breakDown("receive", netio.ErrMessageLength)
		return false
	case n < e.expected || e.early[n] != nil:
		return false
	case len(e.early)+len(e.held) > e.window: // what it was not given credit for
		e.breakDown("receive", ErrIncompatible)
		return false
	case n != e.expected || e.state != reported:
		if e.early == nil {
			e.early = make(map[uint64][]byte)
		}
		e.early[n] = bytes.Clone(data)
		return true
	}
	e.expected++
	e.received(0, data)
	e.deliverEarly()
	return true
}

// deliverEarly delivers the messages that came before their turn.
func (e *endpoint) deliverEarly() {
	for e.state == reported {
		data := e.early[e.expected]
		if data == nil {
			break
		}
		delete(e.early, e.expected)
		e.expected++
		e.received(0, data)
	}
	e.noteAllRead()
}

// noteAllRead looks whether the end has come.
func (e *endpoint) noteAllRead() {
	if e.peerGone && !e.allRead && e.expected >= e.total {
		e.allRead = true
		e.endAfter(partTime, io.EOF) // sends that do not end
		e.Schedule(toRead)
	}
}

func (e *endpoint) heardGoodbye(total uint64) {
	e.owesGone = e.to != 0
	defer e.sayGone()
	switch {
	case e.state == connecting:
		e.notConnected(syscall.ECONNREFUSED)
	case e.state == parting:
		e.gone = true
		e.Schedule(toSettle)
	case !e.peerGone && e.state != connecting:
		e.peerGone, e.total = true, total
		if e.noteAllRead(); !e.allRead {
			e.endAfter(spoilTime, e.OpError("receive", netio.ErrTruncated)) // the rest is under way, or lost
		}
	}
}

// sayGone answers goodbye when the sends have ended that were under way: some end
// only if the other side goes on for that long.
func (e *endpoint) sayGone() {
	if e.owesGone && (e.queue.done == e.queue.posted || e.state == ended) {
		e.owesGone = false
		e.hub.mail(nil, e.peerAddr, frame{frameGone, e.to, 0})
	}
}
