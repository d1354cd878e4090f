// SPDX-License-Identifier: Apache-2.0

package options

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Address is an address to listen on.
type Address struct{ netip.AddrPort }

// resolveTimeout bounds how long a host name may take to resolve.
const resolveTimeout = 5 * time.Second

// UnmarshalText reads ADDR, ADDR:PORT or :PORT, where ADDR is an IP address or
// a host name, and an IPv6 address before a port stands in brackets, with its zone
// if it has one.
func (a *Address) UnmarshalText(text []byte) error {
	s := string(text)
	wrong := func(why string) error {
		return fmt.Errorf("%q is no address: want ADDR or ADDR:PORT%s", s, why)
	}
	host, port, ok := splitAddress(s)
	if !ok {
		return wrong(", an IPv6 address before a port in brackets")
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "":
		ip = netip.IPv4Unspecified()
	case err == nil && strings.ContainsAny(ip.Zone(), ":[]"): // no interface has such a name
		return wrong(", an IPv6 address before a port in brackets")
	case err != nil && strings.ContainsAny(host, ":[]%"): // no host has such a name
		return wrong(": " + err.Error())
	case err != nil:
		if ip, err = resolve(host); err != nil {
			return wrong(": " + err.Error())
		}
	}
	// Only to read the port.
	at, err := netip.ParseAddrPort("0.0.0.0:" + port)
	if err != nil {
		return wrong(" with a port up to 65535")
	}
	a.AddrPort = netip.AddrPortFrom(ip, at.Port())
	return nil
}

// Announced is an address for the directory. Port 0 is the port that was bound.
type Announced struct{ netip.AddrPort }

// UnmarshalText reads what Address does, except port 0: no port is the one that was
// bound.
func (a *Announced) UnmarshalText(text []byte) error {
	var at Address
	if err := at.UnmarshalText(text); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(string(text)); err == nil && at.Port() == 0 {
		return fmt.Errorf("%q has port 0, which cannot be dialled: want ADDR:PORT, or ADDR for the port that was bound", text)
	}
	a.AddrPort = at.AddrPort
	return nil
}

// AddrPorts returns addresses as the configurations of the bus have them.
func AddrPorts(list []Announced) (addresses []netip.AddrPort) {
	for _, a := range list {
		addresses = append(addresses, a.AddrPort)
	}
	return addresses
}

// splitAddress splits s into host, without brackets, and port. Without a port that
// is "0"; without a host, before a port, that is "".
func splitAddress(s string) (host, port string, ok bool) {
	if inside, bracketed := strings.CutPrefix(s, "["); bracketed && strings.HasSuffix(inside, "]") {
		host = strings.TrimSuffix(inside, "]")
		return host, "0", host != "" && !strings.ContainsAny(host, "[]")
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return s, "0", true
	}
	if host, port, err := net.SplitHostPort(s); err == nil {
		return host, port, true
	}
	return s, "0", s != "" && !strings.ContainsAny(s, ":[]")
}

// resolve returns the first address of a host name.
func resolve(host string) (netip.Addr, error) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, err
	}
	return ips[0].Unmap(), nil
}
