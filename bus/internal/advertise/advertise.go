// SPDX-License-Identifier: Apache-2.0

// Package advertise knows at which addresses other programs can dial listeners.
package advertise

import (
	"math"
	"net/netip"
	"slices"

	"tagbus/bus/directory"
)

// Listener is a place where a program listens.
type Listener struct {
	Backend   string
	Listen    netip.AddrPort   // with the real port
	Advertise []netip.AddrPort // of the configuration; port 0 is that of Listen
}

// Reach is how a program is reached.
type Reach struct {
	Listeners []Listener     // the best first, those of a backend together; empty for a client
	Monitor   netip.AddrPort // where another server of the process listens; the zero value: there is none
}

// Place is what is announced.
type Place struct {
	Ways      []directory.Way  // of all backends but the last
	Addresses []netip.AddrPort // of the last one
	Monitor   netip.AddrPort   // the zero value: none
	LeftOut   int              // addresses of the host that are more than an entry names
}

// Equal reports whether both say the same.
func (p Place) Equal(o Place) bool {
	return slices.EqualFunc(p.Ways, o.Ways, func(a, b directory.Way) bool {
		return a.Backend == b.Backend && slices.Equal(a.Addresses, b.Addresses)
	}) && slices.Equal(p.Addresses, o.Addresses) && p.Monitor == o.Monitor && p.LeftOut == o.LeftOut
}

// WithPort returns addr with a port, if it has none.
func WithPort(addr netip.AddrPort, port uint16) netip.AddrPort {
	if addr.Port() != 0 {
		port = addr.Port()
	}
	return netip.AddrPortFrom(addr.Addr(), port)
}

// Unspecified reports whether addr names no host: its IP is 0.0.0.0 or ::, whatever its
// zone.
func Unspecified(addr netip.AddrPort) bool { return addr.Addr().WithZone("").IsUnspecified() }

// Follows reports whether the listener takes the addresses of the host.
func (l Listener) Follows() bool { return len(l.Advertise) == 0 && l.Listen.Addr().IsUnspecified() }

// Follows reports whether the place depends on the addresses of the host.
func (r Reach) Follows() bool {
	if slices.ContainsFunc(r.Listeners, Listener.Follows) {
		return true
	}
	if !r.Monitor.IsValid() || !Unspecified(r.Monitor) {
		return false
	}
	_, found := monitorOf(r.Monitor, r.At(nil, math.MaxInt).Addresses)
	return !found
}

// Fixed returns what is announced whatever addresses the host has.
func (r Reach) Fixed() (addresses []netip.AddrPort) {
	for _, l := range r.Listeners {
		if !l.Follows() {
			addresses = append(addresses, l.at(nil)...)
		}
	}
	return addresses
}

// At returns what to announce.
//
//   - host: addresses of the host that others may dial, the best first, as
//     hostaddr.Select returns them. They stand for a listener whose IP is unspecified, which
//     takes all of them; 0.0.0.0 takes no IPv6. Without any it is loopback: an entry needs an
//     address.
//   - most: how many addresses of a backend are announced. The last one is of loopback, if there is one.
//
// A monitor whose IP is unspecified is at the first of the last backend's addresses that it can
// take. If there is none, as on a fabric whose addresses are no IPs, it is at the first of
// the host's.
func (r Reach) At(host []netip.Addr, most int) Place {
	p := Place{Monitor: r.Monitor}
	for left := r.Listeners; len(left) > 0; {
		way := directory.Way{Backend: left[0].Backend}
		for len(left) > 0 && left[0].Backend == way.Backend {
			for _, addr := range left[0].at(host) {
				if !slices.Contains(way.Addresses, addr) { // several devices may be advertised at the same ones
					way.Addresses = append(way.Addresses, addr)
				}
			}
			left = left[1:]
		}
		var leftOut int
		way.Addresses, leftOut = atMost(way.Addresses, most)
		p.LeftOut = max(p.LeftOut, leftOut)
		if len(left) == 0 {
			p.Addresses = way.Addresses
		} else {
			p.Ways = append(p.Ways, way)
		}
	}
	if !r.Monitor.IsValid() || !Unspecified(r.Monitor) {
		return p
	}
	var found bool
	if p.Monitor, found = monitorOf(r.Monitor, p.Addresses); !found {
		p.Monitor = taken(host, netip.AddrPortFrom(r.Monitor.Addr().WithZone(""), r.Monitor.Port()))[0]
	}
	return p
}

// at returns the addresses of the listener.
func (l Listener) at(host []netip.Addr) (addresses []netip.AddrPort) {
	if l.Follows() {
		return taken(host, l.Listen)
	}
	for _, addr := range l.Advertise {
		addresses = append(addresses, WithPort(addr, l.Listen.Port()))
	}
	if addresses == nil {
		return []netip.AddrPort{l.Listen}
	}
	return addresses
}

// monitorOf returns the address of a monitor whose IP is unspecified.
func monitorOf(monitor netip.AddrPort, addresses []netip.AddrPort) (at netip.AddrPort, found bool) {
	for _, addr := range addresses {
		if ip := addr.Addr(); !Unspecified(addr) && (ip.Is4() || monitor.Addr().Is6()) {
			return netip.AddrPortFrom(ip, monitor.Port()), true
		}
	}
	return netip.AddrPort{}, false
}

// taken returns the addresses of the host that a listener with an unspecified IP takes.
func taken(host []netip.Addr, listen netip.AddrPort) (all []netip.AddrPort) {
	only4 := listen.Addr().Is4()
	for _, ip := range host {
		if ip.Is4() || !only4 {
			all = append(all, netip.AddrPortFrom(ip, listen.Port()))
		}
	}
	if all == nil {
		all = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), listen.Port())}
	}
	return all
}

// atMost returns the first of the addresses, and the first one of loopback.
func atMost(all []netip.AddrPort, most int) (some []netip.AddrPort, leftOut int) {
	if len(all) <= most {
		return all, 0
	}
	leftOut = len(all) - most
	i := slices.IndexFunc(all, func(a netip.AddrPort) bool { return a.Addr().IsLoopback() })
	if i < most {
		return all[:most:most], leftOut
	}
	return append(all[:most-1:most-1], all[i]), leftOut
}
