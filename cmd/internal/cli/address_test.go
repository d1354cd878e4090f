// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"net/netip"
	"testing"

	"tagbus/cmd/internal/cli"
)

func TestAddress(t *testing.T) {
	tests := []struct{ name, text, want string }{ // no want: an error
		{"address and port", "127.0.0.1:4000", "127.0.0.1:4000"},
		{"an address alone", "10.1.2.3", "10.1.2.3:0"},
		{"IPv6 and port", "[::1]:4000", "[::1]:4000"},
		{"IPv6 alone", "::1", "[::1]:0"},
		{"IPv6 in brackets", "[::1]", "[::1]:0"},
		{"all addresses", ":4000", "0.0.0.0:4000"},
		{"an address with zone", "fe80::1%lo", "[fe80::1%lo]:0"},
		{"an address with zone in brackets", "[fe80::1%eth0]", "[fe80::1%eth0]:0"},
		{"an address with zone and port", "[fe80::1%eth0]:4000", "[fe80::1%eth0]:4000"},
		{"an address with zone and port 0", "[fe80::1%eth0]:0", "[fe80::1%eth0]:0"},
		{"all IPv6 addresses", "[::]:4000", "[::]:4000"},
		{"IPv4 in IPv6", "[::ffff:127.0.0.1]:4000", "[::ffff:127.0.0.1]:4000"},
		{"a zone and a port without brackets", "fe80::1%eth0:4000", ""},
		{"a zone that is empty", "[fe80::1%]:0", ""},
		{"a bracket too many", "[[::1]]:4000", ""},
		{"a bracket alone", "[::1:4000", ""},
		{"a bracket that closes nothing", "::1]", ""},
		{"a bracket within a zone", "fe80::1%eth0]:0", ""},
		{"IPv4 with zone", "127.0.0.1%eth0", ""},
		{"nothing", "", ""},
		{"a colon", ":", ""},
		{"a port beyond the limit", "127.0.0.1:65536", ""},
		{"a port that is a word", "127.0.0.1:http", ""},
		{"two ports", "127.0.0.1:1:2", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var a cli.Address
			err := a.UnmarshalText([]byte(test.text))
			switch {
			case test.want == "" && err == nil:
				t.Errorf("got %v, want an error", a)
			case test.want != "" && (err != nil || a.AddrPort != netip.MustParseAddrPort(test.want)):
				t.Errorf("got %v, %v, want %s", a, err, test.want)
			}
		})
	}
	var a cli.Address
	if err := a.UnmarshalText([]byte("localhost:4000")); err != nil || !a.Addr().IsLoopback() || a.Port() != 4000 {
		t.Errorf("localhost:4000: got %v, %v, want port 4000 of a loopback address", a, err)
	}
}

func TestAnnounced(t *testing.T) {
	tests := []struct{ text, want, err string }{
		{"10.0.0.1:7000", "10.0.0.1:7000", ""},
		{"10.0.0.1", "10.0.0.1:0", ""},
		{"fd00::1", "[fd00::1]:0", ""},
		{"[fd00::1]:7000", "[fd00::1]:7000", ""},
		{"10.0.0.1:0", "", `"10.0.0.1:0" has port 0, which cannot be dialled: want ADDR:PORT, or ADDR for the port that was bound`},
		{"[fd00::1]:0", "", `"[fd00::1]:0" has port 0, which cannot be dialled: want ADDR:PORT, or ADDR for the port that was bound`},
		{"10.0.0.1:x", "", `"10.0.0.1:x" is no address: want ADDR or ADDR:PORT with a port up to 65535`},
	}
	for _, test := range tests {
		var a cli.Announced
		err := a.UnmarshalText([]byte(test.text))
		switch {
		case test.err != "" && (err == nil || err.Error() != test.err):
			t.Errorf("%s: got %v, want %s", test.text, err, test.err)
		case test.err == "" && (err != nil || a.AddrPort != netip.MustParseAddrPort(test.want)):
			t.Errorf("%s: got %v, %v, want %s", test.text, a, err, test.want)
		}
	}
}

func addresses(texts ...string) (all []netip.AddrPort) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddrPort(text))
	}
	return all
}

func TestPlace(t *testing.T) {
	for _, test := range []struct {
		name, listen string
		announced    []netip.AddrPort
		advertised   bool
		want         string
	}{
		{"an address", "10.0.0.7:5", addresses("10.0.0.7:5"), false, "10.0.0.7:5"},
		{"loopback", "127.0.0.1:5", addresses("127.0.0.1:5"), false, "127.0.0.1:5, which only this host can reach (--listen)"},
		{"IPv6 loopback", "[::1]:5", addresses("[::1]:5"), false, "[::1]:5, which only this host can reach (--listen)"},
		{"everywhere", "0.0.0.0:5", addresses("10.0.0.7:5", "127.0.0.1:5"), false, "0.0.0.0:5, announced as 10.0.0.7:5, 127.0.0.1:5"},
		{"another address is announced", "127.0.0.1:5", addresses("10.0.0.7:5", "10.0.0.8:6"), true, "127.0.0.1:5, announced as 10.0.0.7:5, 10.0.0.8:6"},
		{"everywhere, on a host without a network", "0.0.0.0:5", addresses("127.0.0.1:5"), false, "0.0.0.0:5, announced as 127.0.0.1:5, which only this host can reach: it has no address that others reach"},
		{"everywhere, and loopback is announced", "0.0.0.0:5", addresses("127.0.0.1:5"), true, "0.0.0.0:5, announced as 127.0.0.1:5, which only this host can reach (--advertise)"},
		{"an address, and loopback is announced", "10.0.0.7:5", addresses("127.0.0.1:6"), true, "10.0.0.7:5, announced as 127.0.0.1:6, which only this host can reach (--advertise)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := cli.Place(netip.MustParseAddrPort(test.listen), test.announced, test.advertised); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
