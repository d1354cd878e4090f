// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostaddr_test

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tagbus/bus/internal/hostaddr"
)

// on returns an address of an interface that is up and has a link.
func on(link, prefix string, marks ...func(*hostaddr.Address)) hostaddr.Address {
	a := hostaddr.Address{Prefix: netip.MustParsePrefix(prefix), Link: link, Up: true, Carrier: true}
	for _, mark := range marks {
		mark(&a)
	}
	return a
}

func down(a *hostaddr.Address)       { a.Up, a.Carrier = false, false }
func unplugged(a *hostaddr.Address)  { a.Carrier = false }
func inner(a *hostaddr.Address)      { a.Inner = true }
func tunnel(a *hostaddr.Address)     { a.PointToPoint = true }
func tentative(a *hostaddr.Address)  { a.Tentative = true }
func deprecated(a *hostaddr.Address) { a.Deprecated = true }
func temporary(a *hostaddr.Address)  { a.Temporary = true }

func TestSelect(t *testing.T) {
	lo, lo6 := on("lo", "127.0.0.1/8"), on("lo", "::1/128")
	tests := []struct {
		name string
		all  []hostaddr.Address
		want string
	}{
		{"no address at all", nil, ""},
		{"no network yet", []hostaddr.Address{lo, lo6}, "127.0.0.1 ::1"},
		{"loopback comes last", []hostaddr.Address{lo, lo6, on("eth0", "10.9.0.1/24"), on("eth0", "fd00::1/64")}, "10.9.0.1 fd00::1 127.0.0.1 ::1"},
		{"IPv4 in IPv6", []hostaddr.Address{on("eth0", "::ffff:10.9.0.1/120")}, "10.9.0.1"},
		{"an address twice", []hostaddr.Address{on("eth0", "10.9.0.1/24"), on("eth1", "10.9.0.1/32")}, "10.9.0.1"},
		{"link-local of IPv6 needs a zone", []hostaddr.Address{lo, on("eth0", "fe80::1/64")}, "127.0.0.1"},
		{"an interface that is down", []hostaddr.Address{on("eth0", "10.9.0.1/24", down), lo}, "127.0.0.1"},
		{"one without a cable comes behind", []hostaddr.Address{on("eth0", "10.9.0.1/24", unplugged), on("eth1", "10.8.0.1/24"), lo}, "10.8.0.1 10.9.0.1 127.0.0.1"},
		{"a tunnel comes behind", []hostaddr.Address{on("tun0", "10.8.0.6/32", tunnel), on("eth0", "10.9.0.1/24")}, "10.9.0.1 10.8.0.6"},
		{"tentative", []hostaddr.Address{on("eth0", "fd00::1/64", tentative), lo}, "127.0.0.1"},
		{"temporary and deprecated beside a stable one", []hostaddr.Address{on("eth0", "fd00::a/64", temporary), on("eth0", "fd00::b/64", deprecated), on("eth0", "fd00::1/64")}, "fd00::1"},
		{"one without a cable does not replace link-local", []hostaddr.Address{on("eth0", "10.9.0.1/24", unplugged), on("eth1", "169.254.7.7/16"), lo}, "169.254.7.7 10.9.0.1 127.0.0.1"},
		{"nor a deprecated one", []hostaddr.Address{on("eth0", "fd01::1/64", unplugged), on("eth1", "fd00::1/64", deprecated)}, "fd00::1 fd01::1"},
		{"nor does a bridge of containers come before it", []hostaddr.Address{on("docker0", "172.17.0.1/16", inner), on("eth0", "10.9.0.1/24", unplugged)}, "10.9.0.1"},
		{"link-local without a cable", []hostaddr.Address{on("eth0", "169.254.7.7/16", unplugged), on("eth1", "10.9.0.1/24", unplugged)}, "10.9.0.1"},
		{"one that is left out is not the first of its network", []hostaddr.Address{on("eth0", "fd00::a/64", temporary), on("eth0", "fd00::1/64"), on("eth0", "fd00::2/64"), on("eth1", "fd01::1/64")}, "fd00::1 fd01::1 fd00::2"},
		{"temporary alone", []hostaddr.Address{on("eth0", "fd00::a/64", temporary), on("eth0", "10.9.0.1/24")}, "10.9.0.1 fd00::a"},
		{"link-local of IPv4 alone", []hostaddr.Address{lo, on("eth0", "169.254.7.7/16")}, "169.254.7.7 127.0.0.1"},
		{"link-local of IPv4 beside another", []hostaddr.Address{on("eth0", "169.254.7.7/16"), on("eth0", "10.9.0.1/24")}, "10.9.0.1"},
		{"bridges of containers", []hostaddr.Address{
			on("docker0", "172.17.0.1/16", inner), on("br-0123456789ab", "172.18.0.1/16", inner), on("virbr0", "192.168.122.1/24", inner),
			on("cni-podman0", "10.88.0.1/16", inner), on("eth0", "10.9.0.1/24"), lo,
		}, "10.9.0.1 127.0.0.1"},
		{"a bridge of containers alone", []hostaddr.Address{on("docker0", "172.17.0.1/16", inner), lo}, "172.17.0.1 127.0.0.1"},
		{"a bridge with a port to the outside", []hostaddr.Address{on("docker0", "172.17.0.1/16"), on("eth0", "10.9.0.1/24")}, "172.17.0.1 10.9.0.1"},
		{"a bridge of the site's own", []hostaddr.Address{on("br0", "10.7.0.1/16", inner), on("eth0", "10.9.0.1/24")}, "10.7.0.1 10.9.0.1"},
		{"the first of each network", []hostaddr.Address{on("eth0", "10.9.0.1/24"), on("eth0", "10.9.0.2/24"), on("eth0", "10.9.0.3/24"), on("eth1", "10.8.0.1/24")}, "10.9.0.1 10.8.0.1 10.9.0.2 10.9.0.3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Trim(fmt.Sprint(hostaddr.Select(test.all)), "[]"); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Each way to list the addresses of this host finds what package net finds, as far as it
// can: the older way has one address of IPv4 for each interface.
func TestTheAddressesOfThisHost(t *testing.T) {
	known := make(map[netip.Prefix]bool)
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		known[netip.MustParsePrefix(a.String())] = true
	}
	for name, list := range map[string]func() ([]hostaddr.Address, error){"netlink": hostaddr.List, "otherwise": hostaddr.ListOtherwise} {
		got, err := list()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, a := range got {
			if !known[a.Prefix] || a.Link == "" {
				t.Errorf("%s: got %+v, want one of %v", name, a, all)
			}
		}
		if name == "netlink" && len(got) != len(all) {
			t.Errorf("%s: got %d addresses, want %d", name, len(got), len(all))
		}
		lo := slices.IndexFunc(got, func(a hostaddr.Address) bool { return a.Prefix.Addr().IsLoopback() })
		if lo >= 0 && got[lo].Link != "lo" {
			t.Errorf("%s: got %+v, want lo", name, got[lo])
		}
	}
}

func TestTheFileOfIPv6(t *testing.T) {
	const file = "00000000000000000000000000000001 01 80 10 80       lo\n" +
		"fd000000000000000000000000000001 02 40 00 40     eth0\n" + // tentative
		"fd000000000000000000000000000002 02 40 00 21     eth0\n" + // temporary, deprecated
		"fd00 02 40 00 80 eth0\nfdzz0000000000000000000000000002 02 40 00 80 eth0\n\n"
	got := hostaddr.ParseInet6(file, map[string]uint16{"eth0": 0x43, "lo": 0x49})
	want := []hostaddr.Address{
		on("lo", "::1/128", inner), on("eth0", "fd00::1/64", inner, tentative), on("eth0", "fd00::2/64", inner, temporary, deprecated),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
