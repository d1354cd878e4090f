// SPDX-License-Identifier: Apache-2.0

package reach_test

import (
	"net/netip"
	"slices"
	"testing"

	"tagbus/bus/internal/reach"
)

func TestAddresses(t *testing.T) {
	addr := netip.MustParseAddrPort
	tests := []struct {
		name   string
		as     []netip.AddrPort
		listen netip.AddrPort
		want   []netip.AddrPort
	}{
		{"the listener's own", nil, addr("10.0.0.1:7000"), []netip.AddrPort{addr("10.0.0.1:7000")}},
		{"others", []netip.AddrPort{addr("192.168.1.1:80"), addr("10.0.0.9:81")}, addr("10.0.0.1:7000"), []netip.AddrPort{addr("192.168.1.1:80"), addr("10.0.0.9:81")}},
		{"with its port", []netip.AddrPort{addr("192.168.1.1:0"), addr("[fd00::1%x]:0")}, addr("0.0.0.0:7000"), []netip.AddrPort{addr("192.168.1.1:7000"), addr("[fd00::1%x]:7000")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := reach.Addresses(test.as, test.listen)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestMonitor(t *testing.T) {
	addr := netip.MustParseAddrPort
	fabric := addr("[::%fabric-00ff]:1")
	tests := []struct {
		name      string
		at        netip.AddrPort
		addresses []netip.AddrPort
		want      netip.AddrPort
	}{
		{"none", netip.AddrPort{}, []netip.AddrPort{addr("10.0.0.1:7000")}, netip.AddrPort{}},
		{"an address of its own", addr("192.168.0.1:9100"), []netip.AddrPort{addr("10.0.0.1:7000")}, addr("192.168.0.1:9100")},
		{"all of IPv4", addr("0.0.0.0:9100"), []netip.AddrPort{fabric, addr("[fd00::1]:7000"), addr("10.0.0.1:7000"), addr("10.0.0.2:7000")}, addr("10.0.0.1:9100")},
		{"all", addr("[::]:9100"), []netip.AddrPort{fabric, addr("[fd00::1]:7000"), addr("10.0.0.1:7000")}, addr("[fd00::1]:9100")},
		{"all, with a zone", addr("[::]:9100"), []netip.AddrPort{addr("[fe80::1%eth0]:7000")}, addr("[fe80::1%eth0]:9100")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := reach.Monitor(test.at, test.addresses); err != nil || got != test.want {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
	t.Run("on a fabric", func(t *testing.T) {
		all, err := reach.Addresses(nil, addr("0.0.0.0:9100"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := reach.Monitor(addr("0.0.0.0:9100"), []netip.AddrPort{fabric}); err != nil || got != all[0] {
			t.Errorf("got %v, %v, want %v, that of an interface", got, err, all[0])
		}
	})
}

// Of all interfaces: each address can be dialed, IPv4 only has IPv4 only, and loopback,
// which leads other hosts to themselves, comes last.
func TestTheAddressesOfAllInterfaces(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:7000", "[::]:7000"} {
		got, err := reach.Addresses(nil, netip.MustParseAddrPort(listen))
		if err != nil || len(got) == 0 {
			t.Fatalf("%s: got %v, %v, want some", listen, got, err)
		}
		for i, a := range got {
			ip := a.Addr()
			if a.Port() != 7000 || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || listen[0] == '0' && !ip.Is4() {
				t.Errorf("%s: got %v, want an address to be dialed", listen, a)
			}
			if i > 0 && got[i-1].Addr().IsLoopback() && !ip.IsLoopback() {
				t.Errorf("%s: got %v behind loopback in %v", listen, a, got)
			}
		}
	}
}
