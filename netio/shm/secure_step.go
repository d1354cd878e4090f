// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"

	"golang.org/x/sys/unix"

	"tagbus/netio/internal/mutual"
	"tagbus/netio/reactor"
)

// Texts for peers that do not speak TLS. tlsOnly begins with tlsOnlyMark, with which no greeting
// begins.
const (
	tlsOnlyMark = "TLS "
	tlsOnly     = tlsOnlyMark + "only: this socket asks for certificates, and got a plain greeting.\n"
)

// secureDialled begins with a connection that was dialled.
func (e *endpoint) secureDialled() (err error) {
	if e.secure, err = newSecure(e, true, e.dial.uid, &e.dial.lent); err != nil {
		return err
	}
	if e.registration, err = e.backend.EventLoop.Register(e.fd, edges, e); err == nil {
		e.shake()
	}
	return err
}

// greetSecure looks at the first bytes of a connection that was accepted. Nothing of it
// takes a place at the desk before.
func (e *endpoint) greetSecure() {
	var first [3]byte
	var n int
	err := retry(func() (err error) {
		n, _, err = unix.Recvfrom(e.fd, first[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return err
	})
	switch {
	case errors.Is(err, unix.EAGAIN):
	case err != nil:
		e.dismiss(err)
	case n == 0:
		e.end(nil) // it has only looked whether this side lives (Config.sweep)
	case !mutual.IsHello(first[:n]):
		_, _ = unix.SendmsgN(e.fd, []byte(tlsOnly), nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) // a socket that is new has room
		e.dismiss(&tlsError{ErrPeerSpeaksPlain})
	case n == len(first):
		e.backend.Alarms.Cancel(&e.limit)
		e.shake()
	}
}

// shake hands the connection to the desk.
func (e *endpoint) shake() {
	e.secure.shaking = true
	e.secure.desk().Enter(&e.secure.visitor)
}

// secureEvent is an event of the socket before the end of the handshake.
func (e *endpoint) secureEvent(events reactor.Events) {
	s := e.secure
	gone := events.Has(reactor.PeerClosed | reactor.Failed | reactor.Hangup)
	switch {
	case !s.shaking:
		e.greetSecure()
	case gone && s.desk().Forget(&s.visitor): // nothing is to be computed for it
		e.insecure(&tlsError{mutual.ErrGone})
	default:
		s.socket.Kick()
	}
}

// secured follows the handshake.
func (e *endpoint) secured() {
	s := e.secure
	if e.state != connecting && e.state != greeted {
		return
	}
	if s.err != nil {
		e.insecure(s.err)
		return
	}
	s.done = true
	if s.dialled {
		e.lend()
		return
	}
	e.limitStranger()
	e.greet() // it may have come, and its edge is spent
}

// insecure ends an endpoint whose handshake has failed.
func (e *endpoint) insecure(err error) {
	if e.secure.dialled {
		e.refuse(err)
	} else {
		e.dismiss(err)
	}
}

// isSecuring reports whether the handshake of TLS is still to end.
func (e *endpoint) isSecuring() bool { return e.secure != nil && !e.secure.done }
