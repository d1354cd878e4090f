// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"fmt"
	"net/netip"
	"slices"

	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

// addrOf returns an address in the provider's form as one of netio.
func (b *backend) addrOf(raw []byte) netip.AddrPort {
	if b.sockets {
		return fi.ParseSocketAddr(raw)
	}
	return FabricAddr(raw)
}

// rawOf is the opposite of addrOf.
func (b *backend) rawOf(addr netip.AddrPort) []byte {
	if raw, ok := RawAddr(addr); ok {
		return raw
	}
	return fi.SocketAddr(dialled(addr))
}

// rdmInfo asks libfabric for endpoints without connection. Errors:
// netio.ErrInvalidAddress; ErrNoDevice, wrapped; *fi.Error. Threads: any.
func (b *backend) rdmInfo(addr netip.AddrPort, listen bool) (*fi.Info, error) {
	h := fi.Hints{RDM: true, Provider: b.config.Provider, Domain: b.place.domain, TxSize: maxDepth, RxSize: maxDepth}
	addr = dialled(addr)
	raw, fabric := RawAddr(addr)
	switch {
	case b.sockets && fabric:
		h.Addr, h.Listen = fi.ParseSocketAddr(raw), listen
	case b.sockets:
		h.Addr, h.Listen = addr, listen
	case fabric && listen:
		h.Source = raw
	case fabric:
	case !listen || addr.Port() != 0 || !addr.Addr().IsUnspecified() && !addr.Addr().IsLoopback():
		return nil, fmt.Errorf("%w: provider %s has no addresses of the internet: listen on 0.0.0.0 with port 0, dial what ListenEndpoint.Addr says", netio.ErrInvalidAddress, b.config.Provider)
	}
	if !listen && h.Addr.IsValid() {
		var err error
		if h.From, err = b.place.from(h.Addr.Addr()); err != nil {
			return nil, err
		}
	}
	info, err := fi.GetInfo(h)
	if err != nil {
		return nil, b.noDevice(err, addr)
	}
	return info, nil
}

// hubReceives returns number and size of the receive buffers of a hub for
// endpoints with params p.
func (b *backend) hubReceives(p *netio.Params) (buffers, size int) {
	switch shared := b.config.SharedReceive; {
	case shared.Enabled():
		return shared.Buffers, shared.BufferBytes
	case p.Receive.Shared:
		return p.Receive.Buffers, p.Receive.MaxMessageBytes
	default:
		return max(b.config.ReceiveBuffers, p.Receive.Buffers), p.Receive.MaxMessageBytes
	}
}

// dialHub returns the hub for an endpoint that is being opened. Only in a step.
func (b *backend) dialHub(addr netip.AddrPort, p *netio.Params) (*hub, error) {
	info, err := b.rdmInfo(addr, false)
	if err != nil {
		return nil, err
	}
	defer info.Free()
	buffers, size := b.hubReceives(p)
	class := minHubBytes // so that they are few
	for class < size {
		class *= 2
	}
	key := fmt.Sprint(info.Fabric(), " ", info.Domain(), " ", class)
	for _, h := range b.hubs {
		if h.dials == key {
			return h, nil
		}
	}
	b.crossing.moved += connectBytes
	h, err := b.openHub(info, class, buffers)
	if err != nil {
		return nil, err
	}
	h.dials = key
	h.begin()
	return h, nil
}

const minHubBytes = 4 << 10

// openHub opens the hub of a listen endpoint. Errors: as rdmInfo; the system's.
func (l *listenEndpoint) openHub(addr netip.AddrPort) error {
	b := l.backend
	info, err := b.rdmInfo(addr, true)
	if err != nil {
		return err
	}
	defer info.Free()
	buffers, size := b.hubReceives(&l.params)
	if l.hub, err = b.openHub(info, size, buffers); err != nil {
		return err
	}
	l.hub.listener, l.Address = l, l.hub.addr
	return nil
}

// forgetHub takes a hub out of those of b.
func (b *backend) forgetHub(h *hub) {
	if i := slices.Index(b.hubs, h); i >= 0 {
		b.hubs = slices.Delete(b.hubs, i, i+1)
	}
}
