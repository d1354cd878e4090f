// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/mutual"
	"tagbus/netio/reactor"
)

// The way of an endpoint with TLS from the connection to established:
//
//	accepted ──► its first bytes ──► handshake ──► established
//	dialled ───────────────────────────┘
//
// Until then the handler does not know it.

// Texts for peers that do not speak TLS. tlsOnly begins with tlsOnlyMark, which a plain
// endpoint knows, as it is the length of no message.
const (
	tlsOnlyMark = "TLS "
	tlsOnly     = tlsOnlyMark + "only: this port speaks tagbus over TLS, and got plain bytes. Use the backend tls.\n"
	httpAnswer  = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" +
		"This port speaks tagbus over TLS, not HTTP.\n"
)

// isHTTP reports whether p, of 4 bytes, begins a request of HTTP.
func isHTTP(p []byte) bool {
	switch string(p) {
	case "GET ", "HEAD", "POST", "PUT ", "PRI ", "OPTI", "DELE", "CONN", "TRAC", "PATC":
		return true
	}
	return false
}

// secureAccepted begins with a connection that was accepted.
func (e *endpoint) secureAccepted() {
	e.state = securing
	e.secure = newSecure(e, false)
	e.secure.silence.F = func() { e.insecure(errMute) }
	e.backend.Alarms.Set(&e.secure.silence, e.backend.config.TLS.HandshakeTimeout)
	e.backend.siblings.strangers.add(e.secure)
	e.Schedule(toSecure)
}

// secureDialled begins with a connection that was dialled.
func (e *endpoint) secureDialled() {
	e.state = securing
	e.secure = newSecure(e, true)
	e.dial.timeout.F = func() { e.refuse(fmt.Errorf("%w: %w", ErrHandshake, netio.ErrTimeout)) }
	e.shake()
}

// greet looks at the first bytes of a connection that was accepted. Nothing of it
// takes a place at the desk before.
func (e *endpoint) greet() {
	s := e.secure
	if e.state != securing || s.shaking {
		return
	}
	var first [4]byte
	n, errno := peekAt(e.fd, first[:])
	switch begin := first[:n]; {
	case errno == unix.EAGAIN:
	case errno != 0:
		e.insecure(errno)
	case n == 0:
		e.insecure(errSilent)
	case !mutual.IsHello(begin[:min(n, 3)]):
		answer := tlsOnly
		if isHTTP(begin) {
			answer = httpAnswer
		}
		_, _ = send(e.fd, []byte(answer)) // of a new connection the system takes so little, or it has failed
		e.insecure(ErrPeerSpeaksPlain)
	case n < 3 && e.peerClosed:
		e.insecure(errSilent)
	case n >= 3 && e.peerClosed: // nothing is to be computed for it
		e.insecure(mutual.ErrGone)
	case n >= 3:
		e.backend.Alarms.Cancel(&s.silence)
		e.shake()
	}
}

// shake hands the connection to the desk.
func (e *endpoint) shake() {
	e.secure.shaking = true
	e.secure.desk().Enter(&e.secure.visitor)
}

// secureEvent is an event of the socket before the endpoint is established.
func (e *endpoint) secureEvent(events reactor.Events) {
	if events.Has(reactor.PeerClosed | reactor.Failed | reactor.Hangup) {
		e.peerClosed = true
	}
	switch s := e.secure; {
	case !s.shaking:
		e.greet()
	case e.peerClosed && s.desk().Forget(&s.visitor): // nothing is to be computed for it
		e.insecure(mutual.ErrGone)
	default:
		s.wire.Kick()
	}
}

// workSecure is the part of Work before the endpoint is established.
func (e *endpoint) workSecure(work uint32) {
	if work&toSecured != 0 {
		e.secured()
	} else {
		e.greet()
	}
}

// secured follows the handshake.
func (e *endpoint) secured() {
	s := e.secure
	switch {
	case e.state != securing:
		return
	case s.err != nil:
		e.insecure(s.err)
		return
	case s.dialled:
		e.backend.Alarms.Cancel(&e.dial.timeout)
		e.backend.Counters.Opened.Add(1)
	default:
		e.backend.siblings.strangers.remove(s)
		e.backend.Counters.Accepted.Add(1)
		if failed, lasted, tell := e.backend.secured.End(); tell {
			e.backend.config.Logger.Info("tcp: accepted connections are secure again", "failed", failed, "after", lasted)
		}
	}
	e.state = established
	e.queue.secure = s
	e.Schedule(toRead) // the edge is spent, and bytes may lie in crypto/tls
	e.report()
}

// insecure ends an endpoint that has not become one.
func (e *endpoint) insecure(err error) {
	if e.secure.dialled {
		e.refuse(err)
		return
	}
	b := e.backend
	b.Counters.AcceptErrors.Add(1)
	if failed, tell := b.secured.Fail(); tell {
		b.config.Logger.Warn("tcp: an accepted connection is closed before it is secure", "remote", e.Remote(), "failed", failed, "err", err)
	}
	e.end(nil)
}

// releaseSecure ends TLS, and reports whether what was sealed is sent: the socket may be
// closed in order.
func (e *endpoint) releaseSecure() (inOrder bool) {
	s := e.secure
	b := e.backend
	b.Alarms.Cancel(&s.silence)
	inOrder = true
	if e.queue.secure != nil {
		if inOrder = !e.blocked && s.plain == 0; inOrder {
			_ = s.conn.CloseWrite() // of a connection that has failed it writes nothing
			_, inOrder, _ = s.wire.push(e.fd)
		}
	} else {
		b.siblings.strangers.remove(s)
		s.desk().Forget(&s.visitor)
	}
	s.wire.shut(netio.ErrClosed)
	return inOrder
}

// receiveSealed is the part of receive that reads from TLS.
func (e *endpoint) receiveSealed(makeWay bool) {
	s := e.secure
	s.wire.edges, s.wire.dry = !e.peerClosed, false
	budget := e.backend.readBudget()
	for {
		if makeWay && e.receiver.buffered() == 0 {
			e.Schedule(toRead)
			return
		}
		room, err := e.receiver.room(budget)
		if err != nil {
			e.endReceive(err)
			return
		}
		n, cost, err := s.open(room, budget)
		e.receiver.grown(n)
		e.backend.moved += cost
		s.drained = err == errNothing //nolint:errorlint // bare, and this is the data path
		if s.wire.answered() {
			e.Schedule(toFlush)
		}
		if n > 0 && !e.deliver() {
			return
		}
		if err != nil && (!s.drained || !s.wire.stopped()) { // else the socket may have more
			e.openedNothing(err)
			return
		}
		if budget -= cost; budget < leastReadBytes || e.backend.late() {
			e.fallBehind()
			return
		}
	}
}

// openedNothing ends the receiving from TLS.
func (e *endpoint) openedNothing(err error) {
	var errno unix.Errno
	switch {
	case err == errNothing: //nolint:errorlint // bare, and this is the data path
		e.receivedNothing(unix.EAGAIN)
	case err == io.EOF: //nolint:errorlint // crypto/tls returns it bare
		e.endOfStream()
	case errors.Is(err, mutual.ErrCut):
		e.endCut()
	case errors.As(err, &errno):
		e.endReceive(errno)
	default:
		e.endReceive(tlsError(err))
	}
}

// endCut ends the endpoint because the stream has ended, and TLS has not.
func (e *endpoint) endCut() {
	e.backend.Counters.Truncated.Add(1)
	e.learnFailure()
	if e.sendErr != nil && !errors.Is(e.sendErr, unix.EPIPE) {
		e.end(e.sendErr)
		return
	}
	e.end(e.OpError("receive", mutual.ErrCut))
}

// peek returns what read would, without taking it, as the function peek does.
func (e *endpoint) peek() (int, unix.Errno) {
	if e.secure != nil && !e.secure.drained {
		return 1, 0
	}
	return peek(e.fd)
}

// explainBad explains a first length that is none: the peer uses TLS, and this side does
// not. A client of TLS is told so.
func (e *endpoint) explainBad(err error) error {
	r := &e.receiver
	if e.secure != nil || r.total != uint64(r.buffered()) {
		return err
	}
	switch begin := r.buf[r.start:][:lengthBytes]; {
	case string(begin) == tlsOnlyMark:
	case e.listener != nil && mutual.IsHello(begin[:3]):
		_, _ = send(e.fd, mutual.PlainAlert) // of a new connection the system takes so little, or it has failed
	default:
		return err
	}
	return fmt.Errorf("%w: %w", ErrPeerSpeaksTLS, err)
}
