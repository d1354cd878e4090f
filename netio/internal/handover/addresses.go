// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"net/netip"

	"tagbus/netio"
)

// addresses are those in use. Each has one listen endpoint, or one endpoint that was
// opened from here. Guarded by Backend.Mu.
type addresses map[netip.AddrPort]struct{}

// Canonical returns the form of an address by which addresses are compared: an
// IPv4 address mapped into IPv6 is the IPv4 address.
func Canonical(addr netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
}

// OpenListenEndpoint implements netio.Backend.
func (b *Backend) OpenListenEndpoint(addr netip.AddrPort, p netio.Params) (netio.ListenEndpoint, error) {
	b.CheckThread("Backend.OpenListenEndpoint")
	l, err := b.openListenEndpoint(addr, p)
	if err != nil {
		return nil, &netio.OpError{Op: "open listen endpoint", Addr: addr, Err: err}
	}
	return l, nil
}

func (b *Backend) openListenEndpoint(addr netip.AddrPort, p netio.Params) (netio.ListenEndpoint, error) {
	if !addr.IsValid() {
		return nil, netio.ErrInvalidAddress
	}
	p, err := b.config.ListenParams(p)
	if err != nil {
		return nil, err
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.Closed {
		return nil, netio.ErrClosed
	}
	if _, exists := b.listening[Canonical(addr)]; exists {
		return nil, netio.ErrListenEndpointExists
	}
	l, err := b.transport.Listen(addr, &p)
	if err != nil {
		return nil, err
	}
	b.listening[l.Addr()] = struct{}{}
	b.Enqueue(l)
	return l, nil
}

// OpenEndpoint implements netio.Backend.
func (b *Backend) OpenEndpoint(addr netip.AddrPort, p netio.Params) error {
	b.CheckThread("Backend.OpenEndpoint")
	if err := b.openEndpoint(addr, p); err != nil {
		return &netio.OpError{Op: "open endpoint", Addr: addr, Err: err}
	}
	return nil
}

func (b *Backend) openEndpoint(addr netip.AddrPort, p netio.Params) error {
	if !addr.IsValid() || addr.Port() == 0 || addr.Addr().Unmap().IsUnspecified() {
		return netio.ErrInvalidAddress
	}
	p, err := b.config.EndpointParams(p)
	if err != nil {
		return err
	}
	key := Canonical(addr)
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.Closed {
		return netio.ErrClosed
	}
	if _, exists := b.dialed[key]; exists {
		return netio.ErrEndpointExists
	}
	if err := b.transport.Dial(addr, &p); err != nil {
		return err
	}
	b.dialed[key] = struct{}{}
	return nil
}

// Unlisten frees the address of a listen endpoint that has ended.
func (b *Backend) Unlisten(addr netip.AddrPort) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	delete(b.listening, addr)
}

// Undial frees the address to which an endpoint was opened that has ended.
func (b *Backend) Undial(addr netip.AddrPort) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	delete(b.dialed, Canonical(addr))
}
