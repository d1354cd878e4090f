// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// systemCongestionControl returns the system's algorithm, and another one that
// a socket may have; the same if there is none.
func systemCongestionControl(tb testing.TB) (system, other string) {
	tb.Helper()
	names := func(setting string) []string {
		text, err := os.ReadFile("/proc/sys/net/ipv4/" + setting)
		if err != nil {
			tb.Fatalf("read the algorithms of the system: got error %v, want none", err)
		}
		return strings.Fields(string(text))
	}
	system = names("tcp_congestion_control")[0]
	for _, name := range names("tcp_allowed_congestion_control") {
		if name != system && name != "reno" {
			return system, name
		}
	}
	return system, system
}

// ownAddress returns an IPv4 address of this host that is not loopback.
func ownAddress(tb testing.TB) netip.Addr {
	tb.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		tb.Fatalf("addresses of the host: got error %v, want none", err)
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			return p.Addr()
		}
	}
	tb.Skip("needs a network interface with an IPv4 address")
	return netip.Addr{}
}

// wantCongestionControl asserts the algorithm of an endpoint.
func wantCongestionControl(t *testing.T, side string, b netio.Backend, ep netio.Endpoint, want string) {
	t.Helper()
	onLoop(t, b.Loop(), func() {
		if got, err := unix.GetsockoptString(tcp.FD(ep), unix.IPPROTO_TCP, unix.TCP_CONGESTION); err != nil || got != want {
			t.Errorf("%s: TCP_CONGESTION: got %q and error %v, want %q", side, got, err, want)
		}
	})
}

func TestEndpoint_congestionControlWithinTheHost(t *testing.T) {
	system, other := systemCongestionControl(t)
	tests := []struct {
		name, config, want string
	}{
		{"the default", "", "reno"},
		{"the system's", tcp.SystemCongestionControl, system},
		{"a name", other, other},
		{"a name that is the default's", "reno", "reno"},
	}
	places := []struct {
		name string
		at   func() netip.Addr
	}{
		{"IPv4 loopback", func() netip.Addr { return loopback.Addr() }},
		{"IPv4 loopback mapped to IPv6", func() netip.Addr { return netip.MustParseAddr("::ffff:127.0.0.1") }},
		{"an address of the host", func() netip.Addr { return ownAddress(t) }},
	}
	for _, place := range places {
		t.Run(place.name, func(t *testing.T) {
			at := place.at()
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					cfg := tcp.Config{CongestionControl: tt.config}
					w, client := newWatcher(), newWatcher()
					server, dialer := openBackend(t, w, cfg), openBackend(t, client, cfg)
					l, err := server.OpenListenEndpoint(netip.AddrPortFrom(at, 0), netio.Params{})
					if err != nil {
						t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
					}
					if err := dialer.OpenEndpoint(netip.AddrPortFrom(at, l.Addr().Port()), netio.Params{}); err != nil {
						t.Fatalf("OpenEndpoint: got error %v, want none", err)
					}
					wantCongestionControl(t, "opened", dialer, next(t, "OnConnectionEstablished", client.Established), tt.want)
					wantCongestionControl(t, "accepted", server, next(t, "OnConnectionEstablished", w.Established), tt.want)
				})
			}
		})
	}
}

// A peer whose address is neither loopback nor ours might be anywhere. This one
// is on this host, and has bound itself to another of its addresses.
func TestEndpoint_congestionControlForOthersIsTheSystems(t *testing.T) {
	system, _ := systemCongestionControl(t)
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	from := &net.TCPAddr{IP: ownAddress(t).AsSlice()}
	c, err := net.DialTCP("tcp", from, net.TCPAddrFromAddrPort(s.l.Addr()))
	if err != nil {
		t.Fatalf("dial: got error %v, want none", err)
	}
	defer c.Close()
	wantCongestionControl(t, "accepted", s.b, next(t, "OnConnectionEstablished", s.Established), system)
}

func TestEndpoint_whatIsTheSameHost(t *testing.T) {
	tests := []struct {
		local, remote string
		want          bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "127.7.8.9", true},
		{"127.0.0.1", "::ffff:127.0.0.2", true},
		{"::1", "::1", true},
		{"192.0.2.2", "192.0.2.2", true},
		{"192.0.2.2", "::ffff:192.0.2.2", true},
		{"fe80::1%eth0", "fe80::1%2", true},
		{"192.0.2.2", "192.0.2.3", false},
		{"fd00::2", "fd00::3", false},
		{"fe80::1%eth0", "fe80::2%eth0", false},
	}
	var got []string
	var want []string
	for _, tt := range tests {
		if tt.want {
			want = append(want, tt.local+" "+tt.remote)
		}
		if tcp.SameHost(netip.MustParseAddr(tt.local), netip.MustParseAddr(tt.remote)) {
			got = append(got, tt.local+" "+tt.remote)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("pairs on one host: got %q, want %q", got, want)
	}
}
