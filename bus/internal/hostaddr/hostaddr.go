// SPDX-License-Identifier: Apache-2.0

// Package hostaddr knows the addresses of this host that other hosts may dial, and tells
// when they have changed: networks come up after a program has started, addresses are
// moved, links come and go.
//
// The kernel tells of changes (rtnetlink). Where it does not, as in a sandbox, the
// addresses are listed every few seconds. A host whose links flap does not make its
// programs rewrite their entries all the time: see Watcher.
package hostaddr

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
)

// Address is an address of an interface of this host.
type Address struct {
	Prefix       netip.Prefix // the address, and how many bits of it are those of the network
	Link         string       // name of the interface
	Up           bool         // the interface is switched on
	Carrier      bool         // it has a link to something
	PointToPoint bool         // it leads to one peer: a tunnel
	Inner        bool         // it is a bridge that has no port to the outside, or that is not known
	Tentative    bool         // IPv6: not the host's yet, or another host has it
	Deprecated   bool         // IPv6: not for new connections
	Temporary    bool         // IPv6: replaced after some hours, to hide the host
}

// class is how good an address is for others; the first is the best.
type class int

const (
	good        class = iota
	tunnel            // those in the tunnel reach it
	passing           // it will end soon, or is deprecated
	linkLocal         // IPv4 without a DHCP server: the hosts of one wire reach it
	unplugged         // nothing reaches it now
	useless           // nor does anything reach this one, which is passing or link-local
	inner             // a bridge to containers of this host. Others have one with the same address
	loopback          // only this host reaches it
	unreachable       // nothing does
)

// engineBridge matches the names of the bridges that container engines and libvirt make.
var engineBridge = regexp.MustCompile(`^(docker\d+|docker_gwbridge|br-[0-9a-f]{12}|virbr\d+|cni\d+|cni-podman\d+|podman\d+|nerdctl\d+|lxcbr\d+|lxdbr\d+|incusbr\d+|cbr\d+|kube-bridge)$`)

func (a Address) class() class {
	ip := a.Prefix.Addr()
	switch {
	case !ip.IsValid(), !a.Up, a.Tentative, ip.IsUnspecified(), ip.IsMulticast(), ip.Is6() && ip.IsLinkLocalUnicast():
		return unreachable // one of IPv6 that is link-local has a zone, which means nothing to others
	case ip.IsLoopback():
		return loopback
	case a.Inner && engineBridge.MatchString(a.Link):
		return inner
	case !a.Carrier && (ip.IsLinkLocalUnicast() || a.Deprecated || a.Temporary):
		return useless
	case !a.Carrier:
		return unplugged
	case ip.IsLinkLocalUnicast():
		return linkLocal
	case a.Deprecated, a.Temporary:
		return passing
	case a.PointToPoint:
		return tunnel
	}
	return good
}

// Select returns the addresses that others may dial, the best first. Of those that are
// equally good, the first one of each network comes before the others. Loopback, which
// leads other hosts to themselves, comes last.
//
// Addresses that are of little use elsewhere are returned where there are no better ones:
// those that will end soon and those of IPv4 that are link-local, where their family has
// no other; those of bridges to containers, where there is no other at all.
func Select(all []Address) []netip.Addr {
	type ranked struct {
		ip      netip.Addr
		network netip.Prefix
		class   class
		again   bool // another one of its network comes before
	}
	best := map[bool]class{false: unreachable, true: unreachable} // by whether it is IPv4
	var some []ranked
	for _, a := range all {
		c := a.class()
		if c == unreachable {
			continue
		}
		ip := a.Prefix.Addr().Unmap()
		some = append(some, ranked{ip: ip, network: a.Prefix.Masked(), class: c})
		best[ip.Is4()] = min(best[ip.Is4()], c)
	}
	some = slices.DeleteFunc(some, func(r ranked) bool {
		switch r.class {
		case passing, linkLocal, useless:
			return r.class > best[r.ip.Is4()]
		case inner:
			return min(best[false], best[true]) < inner
		default:
			return false
		}
	})
	slices.SortStableFunc(some, func(a, b ranked) int { return cmp.Compare(a.class, b.class) })
	networks := make(map[netip.Prefix]bool)
	for i := range some {
		some[i].again = networks[some[i].network]
		networks[some[i].network] = true
	}
	slices.SortStableFunc(some, func(a, b ranked) int {
		if d := cmp.Compare(a.class, b.class); d != 0 || a.again == b.again {
			return d
		}
		if b.again {
			return -1
		}
		return 1
	})
	var result []netip.Addr
	for _, r := range some {
		if !slices.Contains(result, r.ip) {
			result = append(result, r.ip)
		}
	}
	return result
}
