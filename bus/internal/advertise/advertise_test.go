// SPDX-License-Identifier: Apache-2.0

package advertise_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
)

// ports reads addresses with ports that blanks separate.
func ports(text string) (all []netip.AddrPort) {
	for _, word := range strings.Fields(text) {
		all = append(all, netip.MustParseAddrPort(word))
	}
	return all
}

// ips reads addresses.
func ips(text string) (all []netip.Addr) {
	for _, word := range strings.Fields(text) {
		all = append(all, netip.MustParseAddr(word))
	}
	return all
}

func TestAListener(t *testing.T) {
	const host = "10.9.0.1 fd00::1 10.8.0.1 127.0.0.1 ::1"
	tests := []struct {
		name                       string
		listen, advertise, monitor string
		host                       string
		want                       string // addresses, then the monitor
		follows                    bool
	}{
		{"one address", "10.0.0.1:7000", "", "", host, "10.0.0.1:7000", false},
		{"advertised", "10.0.0.1:7000", "192.168.1.1:80 10.0.0.9:81", "", host, "192.168.1.1:80 10.0.0.9:81", false},
		{"advertised without port", "0.0.0.0:7000", "192.168.1.1:0 [fd00::1%x]:0", "", host, "192.168.1.1:7000 [fd00::1%x]:7000", false},
		{"all of IPv4", "0.0.0.0:7000", "", "", host, "10.9.0.1:7000 10.8.0.1:7000 127.0.0.1:7000", true},
		{"all", "[::]:7000", "", "", host, "10.9.0.1:7000 [fd00::1]:7000 10.8.0.1:7000 127.0.0.1:7000 [::1]:7000", true},
		{"the network is not up", "0.0.0.0:7000", "", "", "127.0.0.1 ::1", "127.0.0.1:7000", true},
		{"nothing is up", "[::]:7000", "", "0.0.0.0:9100", "", "127.0.0.1:7000 monitor 127.0.0.1:9100", true},
		{"a monitor of its own", "0.0.0.0:7000", "", "192.168.0.1:9100", "10.9.0.1", "10.9.0.1:7000 monitor 192.168.0.1:9100", true},
		{"a monitor of all of IPv4", "[::]:7000", "", "0.0.0.0:9100", "fd00::1 10.9.0.1", "[fd00::1]:7000 10.9.0.1:7000 monitor 10.9.0.1:9100", true},
		{"a monitor of all", "[::]:7000", "", "[::]:9100", "fd00::1 10.9.0.1", "[fd00::1]:7000 10.9.0.1:7000 monitor [fd00::1]:9100", true},
		{"a monitor of all beside one address", "10.0.0.1:7000", "", "0.0.0.0:9100", host, "10.0.0.1:7000 monitor 10.0.0.1:9100", false},
		{"a monitor with a zone", "[fe80::1%eth0]:7000", "", "[::]:9100", host, "[fe80::1%eth0]:7000 monitor [fe80::1%eth0]:9100", false},
		{"a monitor on a fabric", "[::%fabric-00ff]:1", "", "0.0.0.0:9100", host, "[::%fabric-00ff]:1 monitor 10.9.0.1:9100", true},
		{"a monitor on a fabric without network", "[::%fabric-00ff]:1", "", "[::]:9100", "", "[::%fabric-00ff]:1 monitor 127.0.0.1:9100", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := advertise.Reach{Listeners: []advertise.Listener{{Listen: netip.MustParseAddrPort(test.listen), Advertise: ports(test.advertise)}}}
			if test.monitor != "" {
				l.Monitor = netip.MustParseAddrPort(test.monitor)
			}
			place := l.At(ips(test.host), 64)
			got := strings.TrimSuffix(fmt.Sprint(place.Addresses), "]")[1:]
			if place.Monitor.IsValid() {
				got += " monitor " + place.Monitor.String()
			}
			if got != test.want || l.Follows() != test.follows {
				t.Errorf("got %s, follows %t, want %s, %t", got, l.Follows(), test.want, test.follows)
			}
		})
	}
}

// Of more addresses than an entry names the first are announced, and loopback, by which
// programs of the same host connect when the network is away.
func TestHundredsOfAddresses(t *testing.T) {
	var host []netip.Addr
	for i := range 300 {
		host = append(host, netip.AddrFrom4([4]byte{10, 9, byte(i / 250), byte(i%250 + 1)}))
	}
	l := advertise.Reach{Listeners: []advertise.Listener{{Listen: netip.MustParseAddrPort("0.0.0.0:7000")}}}
	for name, tail := range map[string][]netip.Addr{"with loopback": ips("127.0.0.1"), "without": nil} {
		all := append(slices.Clone(host), tail...)
		place := l.At(all, 64)
		if len(place.Addresses) != 64 || place.LeftOut != len(all)-64 || place.Addresses[62].Addr() != host[62] {
			t.Errorf("%s: got %d addresses and %d left out, want the first 64 of %d", name, len(place.Addresses), place.LeftOut, len(all))
		}
		if last := place.Addresses[63].Addr(); last.IsLoopback() != (tail != nil) {
			t.Errorf("%s: got %v at last", name, last)
		}
	}
}

// What is announced of several backends.
func TestSeveralBackends(t *testing.T) {
	at := netip.MustParseAddrPort
	r := advertise.Reach{Monitor: at("0.0.0.0:9100"), Listeners: []advertise.Listener{
		{Backend: "shm", Listen: at("127.1.2.3:5")},
		{Backend: "rdma:verbs", Listen: at("10.8.0.1:6")},
		{Backend: "rdma:verbs", Listen: at("10.8.1.1:6"), Advertise: ports("10.8.2.1:0 10.8.3.1:7")},
		{Backend: "tcp", Listen: at("0.0.0.0:7")},
	}}
	p := r.At(ips("10.9.0.1 fd00::1 127.0.0.1"), 2)
	want := advertise.Place{
		Ways:      []directory.Way{{Backend: "shm", Addresses: ports("127.1.2.3:5")}, {Backend: "rdma:verbs", Addresses: ports("10.8.0.1:6 10.8.2.1:6")}},
		Addresses: ports("10.9.0.1:7 127.0.0.1:7"), Monitor: at("10.9.0.1:9100"), LeftOut: 1,
	}
	if !p.Equal(want) || !r.Follows() {
		t.Errorf("got %+v, follows %t, want %+v", p, r.Follows(), want)
	}
	if got, want := fmt.Sprint(r.Fixed()), "[127.1.2.3:5 10.8.0.1:6 10.8.2.1:6 10.8.3.1:7]"; got != want {
		t.Errorf("Fixed: got %v, want %v", got, want)
	}
	p.Ways[0].Addresses[0] = at("127.9.9.9:5")
	if p.Equal(want) {
		t.Errorf("places with different ways are equal: %+v", p)
	}
}

// Devices that are advertised at one address stand for one.
func TestDevicesAtOneAddress(t *testing.T) {
	at := netip.MustParseAddrPort
	r := advertise.Reach{Listeners: []advertise.Listener{
		{Backend: "rdma:verbs", Listen: at("10.8.0.1:6"), Advertise: ports("192.0.2.1:9")},
		{Backend: "rdma:verbs", Listen: at("10.8.1.1:6"), Advertise: ports("192.0.2.1:9 192.0.2.2:0")},
	}}
	if got, want := fmt.Sprint(r.At(nil, 64).Addresses), "[192.0.2.1:9 192.0.2.2:6]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A client has nothing but a monitor.
func TestAMonitorAlone(t *testing.T) {
	r := advertise.Reach{Monitor: netip.MustParseAddrPort("0.0.0.0:9100")}
	if p := r.At(ips("fd00::1 10.9.0.1"), 64); p.Monitor.String() != "10.9.0.1:9100" || !r.Follows() {
		t.Errorf("got %v, follows %t, want 10.9.0.1:9100", p.Monitor, r.Follows())
	}
}
