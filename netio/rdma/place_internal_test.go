// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
)

// TestTellApart_asksForEachAddressOnce: there are as many addresses as devices, and most names begin with that of
// another device.
func TestTellApart_asksForEachAddressOnce(t *testing.T) {
	const devices = 200
	all := make(map[string][]netip.Addr)
	owner := make(map[netip.Addr]string)
	var host []netip.Addr
	for i := range devices {
		name, addr := fmt.Sprint("mlx5_", i), netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
		host = append(host, addr)
		owner[addr] = name
		all[name] = []netip.Addr{addr}
		if i >= 10 { // what libfabric says of it
			all[name] = []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(i / 10)})}
		}
	}
	asked := 0
	tellApart(all, func() []netip.Addr { return host }, func(a netip.Addr) string {
		asked++
		return owner[a]
	})
	if asked != devices {
		t.Errorf("got %d questions, want one for each of %d addresses", asked, devices)
	}
	for addr, name := range owner {
		if !slices.Equal(all[name], []netip.Addr{addr}) {
			t.Errorf("%s: got %v, want %v", name, all[name], addr)
		}
	}
	tellApart(map[string][]netip.Addr{"a": nil, "b": nil}, func() []netip.Addr { return host }, func(netip.Addr) string {
		t.Error("asked, though no name begins that of another one")
		return ""
	})
}
