// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// newAccepted returns an endpoint for a connection that l has accepted. It is a stranger
// until it has introduced itself. Errors: the system's; the socket stays the caller's.
func (b *backend) newAccepted(l *listenEndpoint, fd int) (*endpoint, error) {
	who, err := credentials(fd)
	if err != nil {
		return nil, err
	}
	port := b.nextPort()
	e, err := newEndpoint(b, fd, netip.AddrPortFrom(l.Address.Addr(), port), &l.params)
	if err != nil {
		delete(b.ports, port)
		return nil, err
	}
	e.credentials = who
	e.state = greeted
	e.LocalAddr = l.Address
	if b.config.TLS != nil {
		e.secure, err = newSecure(e, false, l.uid, &l.lent)
	}
	if err == nil {
		e.registration, err = b.EventLoop.Register(fd, edges, e)
	}
	if err != nil {
		e.RetirePool()
		delete(b.ports, port)
		return nil, err
	}
	e.listener = l
	e.place = b.endpoints.PushBack(e)
	b.strangers.add(e)
	b.accepted++
	e.limit.F = func() { e.dismiss(netio.ErrTimeout) }
	return e, nil
}

// limitStranger limits the time that the other side has to introduce itself, or to begin the handshake that comes
// before: its own handshakes may stand in line.
func (e *endpoint) limitStranger() {
	limit := e.backend.config.greeting
	if e.isSecuring() {
		limit = e.backend.config.TLS.HandshakeTimeout
	}
	e.backend.Alarms.Set(&e.limit, limit)
}

// lastPort is that of the connection that was accepted last in this process.
var lastPort atomic.Uint32

// nextPort returns a port for an accepted connection, which no other one has: there are
// fewer of them than ports.
func (b *backend) nextPort() uint16 {
	for {
		port := uint16(lastPort.Add(1))
		if _, used := b.ports[port]; !used && port != 0 {
			b.ports[port] = struct{}{}
			return port
		}
	}
}

// greet looks for the greeting of the side that has connected.
func (e *endpoint) greet() {
	if e.waiting != nil {
		return
	}
	if e.isSecuring() {
		e.greetSecure()
		return
	}
	g, files, err := receiveGreeting(e.fd)
	if errors.Is(err, unix.EAGAIN) {
		return
	}
	if err == nil {
		err = e.mapPeer(&g, files)
	}
	if err != nil {
		e.dismiss(err)
		return
	}
	b := e.backend
	b.Alarms.Cancel(&e.limit)
	b.strangers.remove(e)
	e.greeting = g
	e.listener.commitment.admit(e)
}

// answer answers the greeting of the side that has connected.
func (e *endpoint) answer() {
	if err := e.introduce(e.Remote().Port()); err != nil {
		e.dismiss(err)
		return
	}
	e.begin(&e.greeting)
	e.backend.Counters.Accepted.Add(1)
	e.listener.tellLetIn()
	e.state = established
	e.Schedule(toReport)
}

// dismiss ends an accepted connection that the handler does not know.
func (e *endpoint) dismiss(err error) {
	if e.state != greeted {
		return
	}
	b := e.backend
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		b.Counters.AcceptShed.Add(1)
	default:
		b.Counters.AcceptErrors.Add(1)
		e.listener.tellDismissed(e, err)
	}
	e.end(nil)
}

// displaceStranger ends an accepted connection that has not introduced itself. It
// reports whether there was one.
func (b *backend) displaceStranger() bool {
	first := b.strangers.first()
	if first == nil {
		return false
	}
	first.end(nil)
	return true
}

// introduce sends the greeting of this side, with the memory that the endpoint writes.
//
//   - port: that the other side is given; 0: this side has connected.
//   - Errors: netio.ErrNoMemory, and others of the system.
func (e *endpoint) introduce(port uint16) error {
	b := e.backend
	lent := &lentFile{fd: -1}
	if e.dial != nil {
		lent = &e.dial.lent
	} else if e.listener != nil {
		lent = &e.listener.lent
	}
	g := greeting{shape: b.config.shape(), region: int64(len(lent.region)), boot: bootID(), port: port}
	made, err := e.segment(g.shape)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(made.fd) }()
	e.own, e.region = made.mem, lent.region
	set(&pageOf(made.mem).sleep, 1)
	files := [2]int{made.fd, lent.fd}
	err = sendGreeting(e.fd, &g, files[:g.files()]...)
	if e.dial != nil {
		e.dial.lent.close()
	}
	return err
}

// segment returns the segment of this side: with TLS the one that the certificate is bound to.
func (e *endpoint) segment(s shape) (segment, error) {
	if e.secure != nil {
		return e.secure.take(), nil
	}
	fd, mem, err := newSegment(s)
	return segment{fd, mem}, err
}

// mapPeer maps the memory of the other side, and closes its files, which are memory. Errors: ErrHandshake,
// wrapped; netio.ErrNoMemory, and others of the system.
func (e *endpoint) mapPeer(g *greeting, files []int) (err error) {
	defer closeAll(files)
	if e.secure != nil {
		if err = e.secure.theirs.holds(files); err != nil {
			return &tlsError{err}
		}
	}
	if e.peer, err = mapPeer(files[0], int64(g.shape.bytes())); err != nil {
		return err
	}
	if g.region > 0 {
		if e.peerRegion, err = mapPeer(files[1], g.region); err != nil {
			return err
		}
	}
	return nil
}

// begin begins to use the memory of both sides.
func (e *endpoint) begin(g *greeting) {
	e.reader.open(pageOf(e.own), g.shape, e.peer, e.peerRegion, e.params.Receive)
	e.queue.open(e.backend.config.shape(), e.own, e.region, pageOf(e.peer), e.fd)
}

// credentials returns the process that made the other end of a socket, or made it listen. Errors:
// the system's.
func credentials(fd int) (unix.Ucred, error) {
	who, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return unix.Ucred{}, err
	}
	return *who, nil
}
