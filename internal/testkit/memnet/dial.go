// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"net/netip"
	"slices"
	"syscall"
	"time"

	"tagbus/netio"
)

// listener is a netio.ListenEndpoint on a Network.
type listener struct {
	b      *backend
	addr   netip.AddrPort
	params netio.Params

	// guarded by the network's mutex:
	closed        bool
	sharedReceive *receiveBuffers // of the endpoints accepted here, or nil
}

// Addr implements netio.ListenEndpoint.
func (l *listener) Addr() netip.AddrPort {
	l.b.checkThread("Addr")
	return l.addr
}

// Close implements netio.ListenEndpoint.
func (l *listener) Close() error {
	l.b.checkThread("Close")
	l.b.net.mu.Lock()
	defer l.b.net.mu.Unlock()
	if l.closed {
		return netio.ErrClosed
	}
	l.unregister()
	l.b.listeners = slices.DeleteFunc(l.b.listeners, func(x *listener) bool { return x == l })
	for _, e := range l.b.endpoints {
		if e.ln == l {
			e.closed = true
			l.b.schedule(e)
		}
	}
	return nil
}

// unregister frees the address. It needs the network's mutex.
func (l *listener) unregister() {
	l.closed = true
	if l.b.net.listeners[l.addr] == l {
		delete(l.b.net.listeners, l.addr)
	}
}

// dial is an OpenEndpoint whose outcome is not known yet. Its fields are
// guarded by the network's mutex.
type dial struct {
	b        *backend
	addr     netip.AddrPort
	local    netip.AddrPort
	params   netio.Params
	deadline time.Time
	due      time.Time // when the answer arrives; zero: not yet sent
	taskMark taskMark
}

func (d *dial) mark() *taskMark { return &d.taskMark }

// turn finds the outcome, or sees to it that it comes again.
func (d *dial) turn() {
	n := d.b.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if d.b.killed || !slices.Contains(d.b.dials, d) {
		return
	}
	now := time.Now()
	if !now.Before(d.deadline) {
		d.refuse(netio.ErrTimeout)
		return
	}
	if covered(n.partitions, d.local, d.addr) || covered(n.partitions, d.addr, d.local) {
		d.b.wakeAt(d, d.deadline)
		return
	}
	if d.due.IsZero() {
		d.due = now.Add(lookUp(n.delays, d.local, d.addr, 0) + lookUp(n.delays, d.addr, d.local, 0))
	}
	if now.Before(d.due) {
		d.b.wakeAt(d, d.due)
		d.b.wakeAt(d, d.deadline)
		return
	}
	l := n.listenerAt(d.addr)
	if l == nil || slices.ContainsFunc(n.refusals, func(p netip.AddrPort) bool { return matches(p, d.addr) }) {
		d.refuse(syscall.ECONNREFUSED)
		return
	}
	if err := d.connect(l); err != nil {
		d.refuse(err)
	}
}

// listenerAt returns the listener that a dial of an address reaches, or nil. It needs
// the network's mutex.
func (n *Network) listenerAt(addr netip.AddrPort) *listener {
	if l := n.listeners[addr]; l != nil {
		return l
	}
	if l := n.listeners[netip.AddrPortFrom(netip.IPv4Unspecified(), addr.Port())]; l != nil {
		return l
	}
	return n.listeners[netip.AddrPortFrom(netip.IPv6Unspecified(), addr.Port())]
}

// refuse needs the network's mutex and is without it during the callback.
func (d *dial) refuse(cause error) {
	b := d.b
	b.dials = slices.DeleteFunc(b.dials, func(x *dial) bool { return x == d })
	b.stats.Refused++
	err := &netio.OpError{Op: "open endpoint", Addr: d.addr, Err: cause}
	b.notify(Event{Kind: Refused, Local: d.local, Remote: d.addr, Err: err}, func(h netio.Handler) {
		h.OnConnectionRefused(d.addr, err)
	})
}

// connect makes both sides of the connection. It needs the network's mutex.
func (d *dial) connect(l *listener) error {
	accepted, err := newEndpoint(l.b, l, d.addr, d.local, l.params)
	if err != nil {
		l.b.stats.AcceptErrors++
		return syscall.ECONNREFUSED
	}
	opened, err := newEndpoint(d.b, nil, d.local, d.addr, d.params)
	if err != nil {
		accepted.retireBuffers()
		return err
	}
	accepted.peer, opened.peer = opened, accepted
	d.b.dials = slices.DeleteFunc(d.b.dials, func(x *dial) bool { return x == d })
	for _, e := range []*endpoint{accepted, opened} {
		e.b.endpoints = append(e.b.endpoints, e)
		e.b.net.endpoints = append(e.b.net.endpoints, e)
		e.b.schedule(e)
	}
	return nil
}
