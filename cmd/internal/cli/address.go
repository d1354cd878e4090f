package cli

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
// a host name, and an IPv6 address before a port stands in brackets.
func (a *Address) UnmarshalText(text []byte) error {
	s := string(text)
	host, port := s, "0"
	if ip, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		host = ip.String()
	} else if h, p, err := net.SplitHostPort(s); err == nil {
		host, port = h, p
	}
	if host == "" {
		host = "0.0.0.0"
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = net.JoinHostPort(ip.String(), port)
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
		defer cancel()
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return fmt.Errorf("%q is no address: want ADDR or ADDR:PORT: %w", s, err)
		}
		host = net.JoinHostPort(ips[0].Unmap().String(), port)
	}
	addr, err := netip.ParseAddrPort(host)
	if err != nil {
		return fmt.Errorf("%q is no address: want ADDR or ADDR:PORT with a port up to 65535", s)
	}
	a.AddrPort = addr
	return nil
}
