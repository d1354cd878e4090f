package bus

import (
	"fmt"
	"net"
	"net/netip"

	"tagbus/bus/directory"
	"tagbus/internal/check"
	"tagbus/internal/plain"
)

// AdvertiseError says what is wrong with PublisherConfig.Advertise or
// ReceiverConfig.Advertise. It is an ErrInvalidConfig.
type AdvertiseError struct {
	Addr   netip.AddrPort // that cannot be announced; the zero value: it is about all of them
	Reason string         // and what to announce instead
}

// Error names the address and the reason.
func (e *AdvertiseError) Error() string {
	if !e.Addr.Addr().IsValid() {
		return plain.Linef("%v: Advertise: %s", ErrInvalidConfig, e.Reason)
	}
	return plain.Linef("%v: Advertise: %v %s", ErrInvalidConfig, e.Addr, e.Reason)
}

// Unwrap returns ErrInvalidConfig.
func (*AdvertiseError) Unwrap() error { return ErrInvalidConfig }

// checkAdvertise adds what is wrong with the addresses to be announced. Port 0 is that
// of the listener.
func checkAdvertise(v *check.Violations, addresses []netip.AddrPort) {
	if n := len(addresses); n > directory.MaxAddresses {
		v.Join(&AdvertiseError{Reason: fmt.Sprintf("got %d addresses, want at most %d", n, directory.MaxAddresses)})
		return
	}
	for _, addr := range addresses {
		if !addr.Addr().IsValid() {
			v.Join(&AdvertiseError{Reason: "an address is missing"})
			continue
		}
		if reason := directory.Undialable(withPort(addr, somePort)); reason != "" {
			v.Join(&AdvertiseError{Addr: addr, Reason: reason})
		}
	}
}

// somePort stands for the port of a listener that is not open yet.
const somePort = 1

// withPort returns addr with a port, if it has none.
func withPort(addr netip.AddrPort, port uint16) netip.AddrPort {
	if addr.Port() != 0 {
		port = addr.Port()
	}
	return netip.AddrPortFrom(addr.Addr(), port)
}

// advertised returns the addresses to be announced for a listener.
//
//   - as: those of the configuration, if any.
func advertised(as []netip.AddrPort, listen netip.AddrPort) ([]netip.AddrPort, error) {
	if len(as) == 0 {
		return reachable(listen)
	}
	var addresses []netip.AddrPort
	for _, addr := range as {
		addresses = append(addresses, withPort(addr, listen.Port()))
	}
	return addresses, nil
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
