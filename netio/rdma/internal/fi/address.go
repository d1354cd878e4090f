// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// parseSockaddr returns the address in a struct sockaddr_in or sockaddr_in6:
//
//	offset  bytes  IPv4     IPv6
//	0       2      family   family, in the machine's order
//	2       2      port     port, in the network's order
//	4       4      address  flow
//	8       16              address
//	24      4               zone, in the machine's order
//
// An IPv4 address mapped into IPv6 is the IPv4 address. What is neither is the
// zero AddrPort.
func parseSockaddr(b []byte) netip.AddrPort {
	if len(b) < unix.SizeofSockaddrInet4 {
		return netip.AddrPort{}
	}
	port := binary.BigEndian.Uint16(b[2:])
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port)
	case family == unix.AF_INET6 && len(b) >= unix.SizeofSockaddrInet6:
		addr := netip.AddrFrom16([16]byte(b[8:24])).Unmap()
		if zone := binary.NativeEndian.Uint32(b[24:]); zone != 0 && addr.Is6() {
			addr = addr.WithZone(zoneName(int(zone)))
		}
		return netip.AddrPortFrom(addr, port)
	}
	return netip.AddrPort{}
}

func zoneName(index int) string {
	if i, err := net.InterfaceByIndex(index); err == nil {
		return i.Name
	}
	return strconv.Itoa(index)
}
