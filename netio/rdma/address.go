// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
)

const (
	// zonePrefix marks the zone of a fabric address. Interfaces have no such
	// names: 15 bytes at most.
	zonePrefix = "fabric-"

	// fabricPort is that of all fabric addresses, which have none: an address
	// with port 0 cannot be dialed.
	fabricPort = 1
)

// FabricAddr returns the address that stands for one of a fabric, in the form that
// libfabric has given it, where that is no address of the internet (efa, shm):
// [::%fabric-HEX]:1. Source: netio3 tutorial, addresses as hex text.
func FabricAddr(raw []byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.IPv6Unspecified().WithZone(zonePrefix+hex.EncodeToString(raw)), fabricPort)
}

// RawAddr is the opposite of FabricAddr. ok: addr is such an address.
func RawAddr(addr netip.AddrPort) (raw []byte, ok bool) {
	text, ok := strings.CutPrefix(dialled(addr).Addr().Zone(), zonePrefix)
	if !ok {
		return nil, false
	}
	raw, err := hex.DecodeString(text)
	return raw, err == nil && len(raw) > 0
}

// connectionMark stands in a zone before the number of a connection.
const connectionMark = "#"

// dialled undoes connectionAddr.
func dialled(addr netip.AddrPort) netip.AddrPort {
	zone, _, found := strings.Cut(addr.Addr().Zone(), connectionMark)
	if !found {
		return addr
	}
	return netip.AddrPortFrom(addr.Addr().WithZone(zone).Unmap(), addr.Port())
}

// ParseAddr reads IP:port, or the hex text of a fabric address.
//
// Errors: one that names text.
func ParseAddr(text string) (netip.AddrPort, error) {
	if addr, err := netip.ParseAddrPort(text); err == nil {
		return addr, nil
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) == 0 {
		return netip.AddrPort{}, fmt.Errorf("rdma: %q is no address: want IP:PORT, or a fabric's as hexadecimal digits", text)
	}
	return FabricAddr(raw), nil
}

// AddrText writes addr as ParseAddr reads it.
func AddrText(addr netip.AddrPort) string {
	if raw, ok := RawAddr(addr); ok {
		return hex.EncodeToString(raw)
	}
	return addr.String()
}
