// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"net/netip"
	"syscall"

	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

// Dial implements handover.Transport.
func (b *backend) Dial(addr netip.AddrPort, p *netio.Params) error {
	e, err := newEndpoint(b, addr, p)
	if err != nil {
		return err
	}
	e.active = true
	e.Schedule(toConnect)
	return nil
}

// connect begins to connect.
func (e *endpoint) connect() {
	b := e.backend
	b.add(e)
	e.limit.F = func() { e.refuse(netio.ErrTimeout) }
	b.Alarms.Set(&e.limit, e.params.ConnectTimeout)
	if !b.rdm {
		e.resolve()
	} else if err := e.hello(); err != nil {
		e.refuse(err)
	}
}

// openResolved goes on when it is known which device leads to the peer.
func (e *endpoint) openResolved() {
	found := e.resolution.found.Swap(nil)
	if found == nil {
		return
	}
	err := found.err
	if err == nil {
		err = e.tryConnect(found.info)
		found.info.Free()
	}
	if err == nil && e.state == connecting { // what it took to open the device is no time of the peer's
		e.backend.Alarms.Set(&e.limit, e.params.ConnectTimeout)
	}
	if err != nil {
		e.refuse(err)
	}
	if errors.Is(err, ErrNoDevice) || errors.Is(err, syscall.ENODEV) {
		e.backend.devices.closeIdle()
	}
}

func (e *endpoint) tryConnect(info *fi.Info) error {
	b := e.backend
	if e.state != connecting {
		return nil // its time is up
	}
	d, err := b.devices.get(info, e.Remote(), false)
	if err != nil {
		return err
	}
	shared, err := d.sharedReceive(info)
	if err == nil {
		err = e.open(d, info, shared)
	}
	if err := d.tried(err); err != nil {
		return err
	}
	return e.ep.Connect(info, e.greeting().marshal())
}

// sharedReceive returns the receive buffers that all endpoints share, nil if
// they do not.
func (n *device) sharedReceive(i *fi.Info) (*receivePool, error) {
	shared := n.backend.config.SharedReceive
	if !shared.Enabled() || n.receive != nil {
		return n.receive, nil
	}
	p, err := newSharedReceive(n, i, shared.Buffers, shared.BufferBytes)
	if err != nil {
		return nil, err
	}
	n.receive = p
	p.postAll()
	return p, nil
}

// refuse ends an attempt to connect.
func (e *endpoint) refuse(err error) {
	if e.state != connecting {
		return
	}
	e.state = ended
	e.Shut()
	e.release(false)
	e.leaveDevice()
	e.RetirePool()
	b := e.backend
	b.Counters.Refused.Add(1)
	b.Handler.OnConnectionRefused(e.Remote(), e.OpError("open endpoint", err))
}

// onEvent handles an event of an endpoint. It makes no callback.
func (b *backend) onEvent(ev *fi.Event) {
	if ev.Info != nil {
		ev.Info.Free() // a request to connect, without a listen endpoint
		return
	}
	e := b.byContext[ev.Context]
	if e == nil {
		return // it was closed meanwhile
	}
	if ev.Type == fi.Failed && errors.Is(ev.Err, syscall.ENODEV) {
		b.devices.removed(e.device)
	}
	switch {
	case e.state == connecting && ev.Type == fi.Connected:
		e.connected(ev.Data)
	case e.state == connecting:
		e.notConnected(ev.Err)
	case ev.Type == fi.Shutdown:
		e.peerGone = true
		if isPipe(e.broken) { // so this is why
			b.Alarms.Cancel(&e.limit)
		}
		b.look(e)
	case ev.Type == fi.Failed:
		e.breakDown("receive", ev.Err)
	}
}

// connected is the end of connecting.
func (e *endpoint) connected(data []byte) {
	peer := e.peer // that came with the request
	if e.active {
		var ok bool
		if peer, ok = parseGreeting(data); !ok {
			e.Fault = ErrIncompatible
			e.Schedule(toRefuse)
			return
		}
	}
	if err := e.establish(peer); err != nil {
		e.notConnected(err)
	}
}

// notConnected ends connecting without success.
func (e *endpoint) notConnected(err error) {
	if number := fi.Errno(0); errors.As(err, &number) && number == 0 { // the other side has closed at once
		err = syscall.ECONNREFUSED
	}
	if !e.active {
		e.backend.Counters.AcceptErrors.Add(1)
		e.Schedule(toEnd)
		return
	}
	if errors.Is(err, syscall.ETIMEDOUT) {
		err = netio.ErrTimeout
	}
	e.Fault = err
	e.Schedule(toRefuse)
}
