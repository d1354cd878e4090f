// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/rdma/internal/fi"
)

// listenEndpoint implements netio.ListenEndpoint. It has an event queue of its
// own, which ends with it: with the provider tcp, requests that are under way
// point to the passive endpoint.
type listenEndpoint struct {
	backend *backend
	handover.ListenEndpoint
	params netio.Params
	device *device // whose fabric pep is of; the accepted may be of another one, see deviceOf. nil: it was removed
	pep    *fi.PEP
	hub    *hub // in place of device and pep

	// answering is held for reading while another loop answers a request, which needs pep, and for writing
	// while that is closed.
	answering sync.RWMutex

	// Only in a step.
	begun   bool
	stopped bool
	events  eventSource
	receive map[*device]*receivePool // that the accepted endpoints share, if they do: of the device, and of stale ones

	absence absence
}

// Listen implements handover.Transport.
func (b *backend) Listen(addr netip.AddrPort, p *netio.Params) (handover.Listener, error) {
	l := &listenEndpoint{backend: b, params: *p}
	l.Init(&b.Backend, l)
	addr, err := b.place.listens(addr)
	if err != nil {
		return nil, err
	}
	if b.rdm {
		err = l.openHub(addr)
	} else {
		err = l.openPEP(addr)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// openPEP opens what listens for connections of libfabric. Errors: ErrNoDevice,
// wrapped; ErrSharedOnIWARP; syscall.EADDRINUSE; *fi.Error.
func (l *listenEndpoint) openPEP(addr netip.AddrPort) error {
	b, p := l.backend, &l.params
	info, err := b.getInfo(addr, true, b.sizesOf(p))
	if err != nil {
		return b.portInUse(addr, err)
	}
	defer info.Free()
	if l.device, err = b.devices.hold(info, addr); err != nil {
		return err
	}
	if p.Receive.Shared && l.device.iwarp {
		err = ErrSharedOnIWARP
	} else if err = l.open(info); err == nil {
		return nil
	}
	l.closeObjects()
	return err
}

// portInUse finds out whether there is no device for an address because of its
// port: verbs makes no difference. Errors: syscall.EADDRINUSE, or err.
func (b *backend) portInUse(addr netip.AddrPort, err error) error {
	if addr.Port() == 0 || !errors.Is(err, ErrNoDevice) {
		return err
	}
	info, again := b.getInfo(netip.AddrPortFrom(addr.Addr(), 0), true, sizes{})
	if again != nil {
		return err
	}
	info.Free()
	return syscall.EADDRINUSE
}

func (l *listenEndpoint) open(i *fi.Info) (err error) {
	f := l.device.fabric
	if l.events.eq, err = f.OpenEQ(); err != nil {
		return err
	}
	l.events.backend, l.events.handle = l.backend, l.onEvent
	if l.pep, err = f.OpenPEP(i); err != nil {
		return err
	}
	if err := l.pep.Bind(l.events.eq); err != nil {
		return err
	}
	if err := l.pep.Listen(); err != nil {
		return err
	}
	addr, err := l.pep.Name()
	if !l.begun { // from then on any goroutine may read it, and it is the same one
		l.Address = addr
	}
	return err
}

// Work implements handover.Worker. It comes once to begin, and once more after
// Close.
func (l *listenEndpoint) Work() {
	switch {
	case l.stopped:
	case l.IsClosed():
		l.end()
	case !l.begun:
		l.begin()
	}
}

func (l *listenEndpoint) begin() {
	b := l.backend
	l.begun = true
	b.listeners = append(b.listeners, l)
	if l.hub != nil {
		l.hub.begin()
		return
	}
	l.events.Work()
}

// onEvent handles a request to connect. It makes no callback.
func (l *listenEndpoint) onEvent(ev *fi.Event) {
	if ev.Info == nil {
		if ev.Type == fi.Failed && errors.Is(ev.Err, syscall.ENODEV) {
			l.deviceGone(ev.Err)
		}
		return // an error before there was an endpoint
	}
	b := l.backend
	peer, ok := parseGreeting(ev.Data)
	switch {
	case l.IsClosed() || l.absence.away:
	case !ok:
		b.Counters.BadMessages.Add(1)
	case int(b.siblings.accepted.Load()) >= b.config.MaxEndpoints:
		b.shed(ev.Info.RemoteAddr())
	default:
		b.siblings.assign(l, ev.Info, peer)
		return
	}
	_ = l.pep.Reject(ev.Info) // fails only if the other side has gone
}

// accept makes an endpoint for a request that came to l, perhaps on another loop, and answers it.
func (b *backend) accept(l *listenEndpoint, i *fi.Info, peer greeting) {
	e, err := newEndpoint(b, i.RemoteAddr(), &l.params)
	if err == nil {
		e.listener, e.peer = l, peer
		b.add(e)
		err = e.openRequest(i)
	}
	if err == nil {
		err = e.ep.Accept(e.greeting().marshal())
	}
	if err != nil {
		b.Counters.AcceptErrors.Add(1)
		b.refusals.refused(b.config.Logger, time.Now(), i.RemoteAddr(), err)
		if e == nil {
			b.siblings.accepted.Add(-1)
		} else {
			e.end(nil)
		}
		_ = l.pep.Reject(i)
		return
	}
	b.refusals.served(b.config.Logger)
	i.Free()
	e.limit.F = func() { e.notConnected(netio.ErrTimeout) }
	b.Alarms.Set(&e.limit, acceptTimeout)
}

// openRequest opens e for a request.
func (e *endpoint) openRequest(i *fi.Info) error {
	d, err := e.listener.deviceOf(e.backend, i)
	if err != nil {
		return err
	}
	shared, err := e.listener.sharedReceive(d, i)
	if err == nil {
		err = e.open(d, i, shared)
	}
	return d.tried(err)
}

// deviceOf returns the device of b for a request: that of l, unless that is stale, of another loop, or the
// request came in by another one.
func (l *listenEndpoint) deviceOf(b *backend, i *fi.Info) (*device, error) {
	if b == l.backend && !l.device.stale && deviceName(i) == l.device.name {
		return l.device, nil
	}
	host := i.LocalAddr().Addr()
	if !host.IsValid() {
		host = l.Address.Addr()
	}
	return b.devices.get(i, netip.AddrPortFrom(host, 0), true)
}

// sharedReceive returns the receive buffers that the accepted endpoints share
// with each other or with all of the backend, nil if they do not.
func (l *listenEndpoint) sharedReceive(d *device, i *fi.Info) (*receivePool, error) {
	r := &l.params.Receive
	if !r.Shared {
		return d.sharedReceive(i)
	}
	p := l.receive[d]
	if p == nil {
		var err error
		if p, err = newSharedReceive(d, i, r.Buffers, r.MaxMessageBytes); err != nil {
			return nil, err
		}
		if l.receive == nil {
			l.receive = make(map[*device]*receivePool)
		}
		l.receive[d] = p
		p.postAll()
	}
	return p, nil
}
