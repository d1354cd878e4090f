// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"

	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

// place is the device of a Config: where its backend listens, and dials from. The zero value is any.
type place struct {
	name      string         // of Config
	domain    string         // to ask libfabric for; "": that of the address
	addresses []netip.Addr   // the best first; none: the provider has others than those of the internet
	networks  []netip.Prefix // of these addresses
}

// findPlace finds the device of a Config among what its provider offers.
//
// Errors: ErrNoDevice, wrapped, with the name and what to do.
func findPlace(cfg Config, offers *fi.Info) (place, error) {
	p := place{name: cfg.Device}
	if cfg.Device == "" {
		return p, nil
	}
	addr, _ := netip.ParseAddr(cfg.Device)
	sockets, found := false, false
	var there []string
	for domain, addresses := range domains(cfg.Provider, offers) {
		there = append(there, domain)
		switch {
		case domain == cfg.Device:
			p.domain, p.addresses, found = domain, addresses, true
		case slices.Contains(addresses, addr):
			p.domain, p.addresses, found = domain, []netip.Addr{addr}, true
		}
	}
	for i := range offers.All() {
		sockets = sockets || i.HasSocketAddrs()
	}
	if addr.IsLoopback() && cfg.Provider != ProviderVerbs && !found { // any of 127.0.0.0/8 is of this host
		p.addresses, found = []netip.Addr{addr}, true
	}
	slices.Sort(there)
	switch {
	case !found && inKernel(cfg.Device), found && sockets && len(p.addresses) == 0:
		return place{}, fmt.Errorf("%w: the device %q of libfabric's provider %s has no IP address: give its network interface one, and start the program again", ErrNoDevice, cfg.Device, cfg.Provider)
	case !found:
		return place{}, fmt.Errorf("%w %q of libfabric's provider %s, which has %s: see --fabrics for all", ErrNoDevice, cfg.Device, cfg.Provider, orDash(strings.Join(there, ", ")))
	}
	if sockets && cfg.Provider != ProviderVerbs {
		p.domain = "" // providers on sockets compare no names: the address says which interface
	}
	slices.SortStableFunc(p.addresses, func(a, b netip.Addr) int { return far(a) - far(b) })
	p.networks = networksOf(p.addresses)
	return p, nil
}

// domains returns the domains of a provider with their addresses, as far as these are of the internet.
//
// verbs 1.17 gives a device the addresses of one whose name is the beginning of its own
// (vrb_get_srcaddr_devs: mlx5_10, mlx5_1). Then each address of this host is asked for its device.
func domains(provider string, offers *fi.Info) map[string][]netip.Addr {
	all := make(map[string][]netip.Addr)
	for i := range offers.All() {
		at := i.LocalAddr().Addr()
		if known := all[i.Domain()]; at.IsValid() && !slices.Contains(known, at) {
			all[i.Domain()] = append(known, at)
		} else {
			all[i.Domain()] = known
		}
	}
	if provider == ProviderVerbs {
		tellApart(all, hostAddresses, deviceAt)
	}
	return all
}

// tellApart corrects the addresses of devices whose names begin with that of another one. It asks for the device of
// each address once: a host has hundreds of both.
func tellApart(all map[string][]netip.Addr, host func() []netip.Addr, deviceAt func(netip.Addr) string) {
	var own map[string][]netip.Addr
	for name := range all {
		for other := range all {
			if name == other || !strings.HasPrefix(name, other) {
				continue
			}
			if own == nil {
				own = make(map[string][]netip.Addr)
				for _, a := range host() {
					device := deviceAt(a)
					own[device] = append(own[device], a)
				}
			}
			all[name] = own[name]
			break
		}
	}
}

// deviceAt returns the device of verbs that has an address, "" if none has it.
func deviceAt(addr netip.Addr) string {
	i, err := fi.GetInfo(fi.Hints{Provider: ProviderVerbs, Addr: netip.AddrPortFrom(addr, 0), Listen: true})
	if err != nil {
		return ""
	}
	defer i.Free()
	return i.Domain()
}

// far orders the addresses of a device: those that work everywhere first.
func far(a netip.Addr) int {
	switch {
	case a.Is4():
		return 0
	case !a.IsLinkLocalUnicast():
		return 1
	}
	return 2
}

// inKernel reports whether the kernel has an RDMA device of a name.
func inKernel(name string) bool {
	if name == "" || name != path.Base(name) {
		return false
	}
	_, err := os.Stat(path.Join("/", sysDevices, name))
	return err == nil
}

// hostNetworks returns the addresses of this host, each with its network.
func hostNetworks() (all []netip.Prefix) {
	host, _ := net.InterfaceAddrs() // without them no peer is near
	for _, a := range host {
		if n, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// hostAddresses returns the addresses of this host that name it everywhere in its networks.
func hostAddresses() (all []netip.Addr) {
	for _, n := range hostNetworks() {
		if a := n.Addr(); !a.IsLoopback() && !a.IsLinkLocalUnicast() {
			all = append(all, a)
		}
	}
	return all
}

// networksOf returns the networks of this host in which the addresses are.
func networksOf(addresses []netip.Addr) (all []netip.Prefix) {
	for _, n := range hostNetworks() {
		if slices.Contains(addresses, n.Addr()) {
			all = append(all, n.Masked())
		}
	}
	return all
}

// listens returns where to listen: at the device's own address in place of an unspecified one.
//
// Errors: netio.ErrInvalidAddress, wrapped, for an address of another device.
func (p *place) listens(addr netip.AddrPort) (netip.AddrPort, error) {
	ip := addr.Addr()
	switch {
	case len(p.addresses) == 0 || slices.Contains(p.addresses, ip):
		return addr, nil
	case !ip.IsUnspecified():
		return netip.AddrPort{}, fmt.Errorf("%w: %v is none of the device %q (%v): listen on one of these, or on %v for the device's own",
			netio.ErrInvalidAddress, ip, p.name, p.addresses, unspecified(p.addresses[0]))
	}
	own, err := p.from(ip)
	if err != nil {
		own = p.addresses[0]
	}
	return netip.AddrPortFrom(own, addr.Port()), nil
}

func unspecified(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// from returns the address from which to dial a peer; the zero value if any will do.
//
// Errors: ErrNoDevice, wrapped, if there is none of its family.
func (p *place) from(peer netip.Addr) (netip.Addr, error) {
	if len(p.addresses) == 0 {
		return netip.Addr{}, nil
	}
	i := slices.IndexFunc(p.addresses, func(a netip.Addr) bool { return a.Is4() == peer.Unmap().Is4() })
	if i < 0 {
		return netip.Addr{}, fmt.Errorf("%w: the device %q has only %v, and the peer is at %v", ErrNoDevice, p.name, p.addresses, peer)
	}
	return p.addresses[i], nil
}

// Near implements netio.DeviceBackend.
func (b *backend) Near(peer netip.Addr) bool {
	return slices.ContainsFunc(b.place.networks, func(n netip.Prefix) bool { return n.Contains(peer.Unmap()) })
}
