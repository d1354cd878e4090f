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
