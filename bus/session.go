package bus

import (
	"fmt"
	"net"
	"net/netip"

	"tagbus/bus/internal/seats"
	"tagbus/internal/plain"
	"tagbus/netio"
	"tagbus/subscription"
)

// What both ends of a connection say of each other.

// protocolError returns an error that wraps ErrProtocol, for a peer that has broken the
// protocol.
func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// tooMany returns kind, with the limit of a configuration that is reached.
func tooMany(kind error, full *seats.Full, limit string) error {
	if full.Host.IsValid() {
		return fmt.Errorf("%w: %d from %v, the most it allows of one host: raise %sPerHost", kind, full.Taken, full.Host, limit)
	}
	return fmt.Errorf("%w: %d, the most it allows: raise %s", kind, full.Taken, limit)
}

// peerOf returns the peer that has said hello.
func peerOf(h subscription.Hello, ep netio.Endpoint) *Peer {
	return &Peer{Instance: h.Instance, Name: h.Name, Host: h.Host, PID: h.PID, Addr: ep.Remote()}
}

// refusal is how a peer is told why it is refused, and the subscription id, or the
// whole connection if id is 0. A reason that is longer than a text of the protocol
// may be loses its end, and says so.
func refusal(id uint64, reason error) *subscription.Refused {
	return &subscription.Refused{ID: id, Reason: plain.Cut(plain.Error(reason), subscription.MaxTextBytes)}
}

// reachable returns the addresses at which a listener can be dialed: its own, or for an
// unspecified one those of all interfaces, loopback last.
func reachable(listen netip.AddrPort) ([]netip.AddrPort, error) {
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
