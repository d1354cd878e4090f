// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"tagbus/internal/alarm"
	"tagbus/internal/headroom"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
)

// dial is what an endpoint needs only until it is connected.
type dial struct {
	to      unix.Sockaddr
	params  netio.Params
	timeout alarm.Alarm
}

// Dial implements handover.Transport.
func (b *backend) Dial(addr netip.AddrPort, p *netio.Params) error {
	fd, to, err := newSocket(addr, &b.config)
	if err != nil {
		return err
	}
	if headroom.Taken(fd) {
		_ = unix.Close(fd)
		return fmt.Errorf("socket: %w", unix.EMFILE)
	}
	e, err := newEndpoint(b, fd, addr, p)
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	e.dial = &dial{to: to, params: *p}
	e.Schedule(toConnect)
	return nil
}

// connect begins to connect.
func (e *endpoint) connect() {
	b := e.backend
	e.place = b.endpoints.PushBack(e)
	b.load.Add(1)
	if err := connect(e.fd, e.dial.to); err != nil {
		e.refuse(err)
		return
	}
	var err error
	// Not before connect: a socket that was never connected is hung up.
	if e.registration, err = b.EventLoop.Register(e.fd, edges, e); err != nil {
		e.refuse(err)
		return
	}
	e.dial.timeout.F = func() { e.refuse(netio.ErrTimeout) }
	b.Alarms.Set(&e.dial.timeout, e.dial.params.ConnectTimeout)
}

// proceed looks whether the connection stands. The edge that says so is also
// the first for reading and writing.
func (e *endpoint) proceed() {
	done, err := connected(e.fd)
	if !done {
		return
	}
	if err == nil {
		e.LocalAddr, err = localAddr(e.fd)
	}
	// A socket that connects to a port of its own host without a listener may be
	// given this very port, and is then connected to itself.
	if err == nil && e.Local() == handover.Canonical(e.Remote()) {
		err = unix.ECONNREFUSED
	}
	if err != nil {
		if errors.Is(err, unix.ETIMEDOUT) {
			err = netio.ErrTimeout
		}
		e.refuse(err)
		return
	}
	tuneToPeer(e.fd, e.Local().Addr(), e.Remote().Addr(), &e.backend.config)
	if e.backend.config.TLS != nil {
		e.secureDialled()
		return
	}
	e.backend.Alarms.Cancel(&e.dial.timeout)
	e.backend.Counters.Opened.Add(1)
	e.state = established
}

// refuse ends an attempt to connect.
func (e *endpoint) refuse(err error) {
	e.state = ended
	e.Shut()
	e.release()
	b := e.backend
	b.Counters.Refused.Add(1)
	b.Handler.OnConnectionRefused(e.Remote(), e.OpError("open endpoint", err))
}
