// SPDX-License-Identifier: Apache-2.0

// Package reach knows at which addresses other programs can dial a listener.
package reach

import (
	"fmt"
	"net"
	"net/netip"
)

// WithPort returns addr with a port, if it has none.
func WithPort(addr netip.AddrPort, port uint16) netip.AddrPort {
	if addr.Port() != 0 {
		port = addr.Port()
	}
	return netip.AddrPortFrom(addr.Addr(), port)
}

// Addresses returns the addresses to be announced for a listener.
//
//   - as: those of the configuration, if any. Port 0 is that of the listener. Otherwise it
//     is the listener's own one, or for an unspecified one those of all interfaces,
//     loopback last.
//   - Errors: those of the system.
func Addresses(as []netip.AddrPort, listen netip.AddrPort) ([]netip.AddrPort, error) {
	if len(as) == 0 {
		return own(listen)
	}
	var addresses []netip.AddrPort
	for _, addr := range as {
		addresses = append(addresses, WithPort(addr, listen.Port()))
	}
	return addresses, nil
}

// Unspecified reports whether addr names no host: its IP is 0.0.0.0 or ::, whatever its
// zone.
func Unspecified(addr netip.AddrPort) bool { return addr.Addr().WithZone("").IsUnspecified() }

// Monitor returns the address at which others find a server of this process that listens
// on another port than the bus.
//
//   - at: where the server listens. An unspecified IP stands for the first of the
//     addresses that it can take: 0.0.0.0 takes no IPv6. If there is none, as on a fabric
//     whose addresses are no IPs, it is that of an interface. The zero value stays.
//   - Errors: those of the system.
func Monitor(at netip.AddrPort, addresses []netip.AddrPort) (netip.AddrPort, error) {
	if !at.IsValid() || !Unspecified(at) {
		return at, nil
	}
	for _, addr := range addresses {
		if ip := addr.Addr(); !Unspecified(addr) && (ip.Is4() || at.Addr().Is6()) {
			return netip.AddrPortFrom(ip, at.Port()), nil
		}
	}
	all, err := own(netip.AddrPortFrom(at.Addr().WithZone(""), at.Port()))
	if err != nil || len(all) == 0 {
		return netip.AddrPort{}, err
	}
	return all[0], nil
}

func own(listen netip.AddrPort) ([]netip.AddrPort, error) {
	if !listen.Addr().IsUnspecified() {
		return []netip.AddrPort{listen}, nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("bus: find the addresses to advertise for %v: %w", listen, err)
	}
	var outside, loopback []netip.AddrPort
	for _, a := range all {
		network, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, ok := netip.AddrFromSlice(network.IP)
		ip = ip.Unmap()
		switch {
		case !ok, ip.IsLinkLocalUnicast(), listen.Addr().Is4() && !ip.Is4():
		case ip.IsLoopback():
			loopback = append(loopback, netip.AddrPortFrom(ip, listen.Port()))
		default:
			outside = append(outside, netip.AddrPortFrom(ip, listen.Port()))
		}
	}
	return append(outside, loopback...), nil
}
