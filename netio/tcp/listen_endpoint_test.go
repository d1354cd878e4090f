// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/headroom"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

func TestBackend_OpenListenEndpoint_errorsNameTheAddress(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	tests := []struct {
		name string
		addr netip.AddrPort
		want error
	}{
		{"the zero address", netip.AddrPort{}, netio.ErrInvalidAddress},
		{"an address of another host", netip.MustParseAddrPort("192.0.2.1:0"), syscall.EADDRNOTAVAIL},
		{"the address of this backend", s.l.Addr(), netio.ErrListenEndpointExists},
		{"the same in its IPv6 form", mapped(s.l.Addr()), netio.ErrListenEndpointExists},
		{"all addresses at the port of this backend", netip.AddrPortFrom(netip.IPv4Unspecified(), s.l.Addr().Port()), syscall.EADDRINUSE},
		{"a zone that does not exist", netip.MustParseAddrPort("[fe80::1%nosuch]:0"), netio.ErrInvalidAddress},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := backendtest.OpenFiles(t)
			_, err := s.b.OpenListenEndpoint(tt.addr, netio.Params{})
			var op *netio.OpError
			if !errors.Is(err, tt.want) || !errors.As(err, &op) || op.Addr != tt.addr {
				t.Errorf("got error %v, want an *OpError about %v that wraps %v", err, tt.addr, tt.want)
			}
			if after := backendtest.OpenFiles(t); after > before { // fewer are those of a test before
				t.Errorf("descriptors: got %d, want at most %d as before", after, before)
			}
		})
	}
}

// mapped returns an IPv4 address as an IPv6 address.
func mapped(addr netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(addr.Addr().As16()), addr.Port())
}

func TestListenEndpoint_wildcardServesBothProtocols(t *testing.T) {
	w := newWatcher()
	b := openBackend(t, w, tcp.Config{})
	l, err := b.OpenListenEndpoint(netip.MustParseAddrPort("[::]:0"), netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		c := dialRaw(t, netip.AddrPortFrom(netip.MustParseAddr(host), l.Addr().Port()))
		ep := next(t, "OnConnectionEstablished", w.Established)
		if got, want := ep.Remote().String(), c.LocalAddr().String(); got != want {
			t.Errorf("Remote over %s: got %s, want %s", host, got, want)
		}
		if got, want := ep.Local().String(), c.RemoteAddr().String(); got != want {
			t.Errorf("Local over %s: got %s, want %s", host, got, want)
		}
	}
}

func TestListenEndpoint_closesTooManyConnections(t *testing.T) {
	const limit = 3
	var log lockedBuffer
	s := serve(t, newWatcher(), tcp.Config{MaxEndpoints: limit, Logger: slog.New(slog.NewTextHandler(&log, nil))}, netio.Params{})
	var eps []netio.Endpoint
	for range limit {
		_, ep := s.dialRaw(t)
		eps = append(eps, ep)
	}
	for i := range 3 {
		c := dialRaw(t, s.l.Addr())
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("connection %d over the limit: got data, want the end", i)
		}
	}
	stats := s.b.Stats()
	if stats.Accepted != limit || stats.AcceptShed != 3 || len(s.Established) != 0 {
		t.Errorf("Stats: got %d accepted and %d shed, want %d and 3", stats.Accepted, stats.AcceptShed, limit)
	}
	if got := log.String(); !strings.Contains(got, " MaxEndpoints=3 failed=1\n") {
		t.Errorf("log: got %q, want a line with the limit", got)
	}
	// One that goes makes room for one.
	if err := eps[0].Close(); err != nil {
		t.Fatalf("Close: got error %v, want none", err)
	}
	next(t, "OnConnectionClosed", s.Closed)
	s.dialRaw(t)
	if got := log.String(); !strings.Contains(got, "level=INFO") || !strings.Contains(got, " failed=3 ") {
		t.Errorf("log: got %q, want a line that there is room again, after 3", got)
	}
}

// childOf runs a test in a process of its own, because it changes limits.
func childOf(t *testing.T) (child bool) {
	t.Helper()
	if os.Getenv("TAGBUS_TCP_CHILD") != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "TAGBUS_TCP_CHILD=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("child: got error %v, want none; its output:\n%s", err, out)
	}
	return false
}

func TestListenEndpoint_acceptSurvivesWithoutDescriptors(t *testing.T) {
	if childOf(t) {
		testWithoutDescriptors(t, false)
	}
}

// Connections leave the last descriptors to the files of the program.
func TestListenEndpoint_acceptLeavesTheLastDescriptors(t *testing.T) {
	if childOf(t) {
		testWithoutDescriptors(t, true)
	}
}

func testWithoutDescriptors(t *testing.T, left bool) {
	t.Helper()
	w := newWatcher()
	b, loop := openBackendOn(t, reactor.Config{}, w, tcp.Config{})
	l, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	const peers, places = 20, 2
	// Sockets first, then the limit, then the connections.
	var fds []int
	patience := unix.NsecToTimeval(int64(backendtest.Patience)) // its fields are as wide as the processor has them
	for range peers + 1 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatalf("socket: got error %v, want none", err)
		}
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
			t.Fatalf("SO_RCVTIMEO: got error %v, want none", err)
		}
		fds = append(fds, fd)
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatalf("Getrlimit: got error %v, want none", err)
	}
	limit := before
	limit.Cur = uint64(fds[peers] + 1 + places)
	for uint64(fds[peers]+1+places)+headroom.Of(limit.Cur) > limit.Cur {
		limit.Cur++
	}
	kept := headroom.Of(limit.Cur)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatalf("Setrlimit: got error %v, want none", err)
	}
	// All descriptors up to the limit, or up to those that are kept, with the holes below, and places fewer.
	var taken []int
	for {
		fd, err := unix.Dup(fds[0])
		if left && uint64(fd)+kept == limit.Cur {
			_ = unix.Close(fd)
			break
		}
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	for _, fd := range taken[:places] {
		_ = unix.Close(fd)
	}
	to := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: int(l.Addr().Port())}
	turns := loop.Stats().Turns
	for i, fd := range fds[:peers] {
		if err := unix.Connect(fd, to); err != nil {
			t.Fatalf("connect %d: got error %v, want none", i, err)
		}
	}
	for range places {
		next(t, "OnConnectionEstablished", w.Established)
	}
	for i, fd := range fds[places:peers] {
		// A reset or an end: both are answers.
		if n, err := unix.Read(fd, make([]byte, 1)); n > 0 || errors.Is(err, unix.EAGAIN) {
			t.Errorf("peer %d without a descriptor for it: got %d bytes and error %v, want the end", i, n, err)
		}
	}
	onLoop(t, b.Loop(), func() {}) // or the last peer might be shed with the others
	stats := b.Stats()
	if stats.Accepted != places || stats.AcceptShed != peers-places || stats.AcceptErrors == 0 {
		t.Errorf("Stats: got %+v, want %d accepted, %d shed and errors", stats, places, peers-places)
	}
	if used := loop.Stats().Turns - turns; used > 20*peers {
		t.Errorf("turns of the loop: got %d, want few: it must not spin", used)
	}
	if err := b.OpenEndpoint(l.Addr(), netio.Params{}); !errors.Is(err, unix.EMFILE) {
		t.Errorf("OpenEndpoint: got error %v, want EMFILE", err)
	}
	var files []int
	for range kept {
		fd, err := unix.Dup(fds[0])
		if err == nil {
			files = append(files, fd)
		}
	}
	if want := int(kept); left && len(files) != want || !left && len(files) > 0 {
		t.Errorf("got %d descriptors for files, want the last %d only if they were left", len(files), want)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatalf("Setrlimit: got error %v, want none", err)
	}
	if err := unix.Connect(fds[peers], to); err != nil {
		t.Fatalf("connect: got error %v, want none", err)
	}
	next(t, "OnConnectionEstablished after the rest", w.Established)
	for _, fd := range slices.Concat(fds, taken[places:], files) {
		_ = unix.Close(fd)
	}
}

func TestListenEndpoint_acceptedSocketsHaveTheOptions(t *testing.T) {
	tests := []struct {
		name string
		cfg  tcp.Config
		want map[int]int // of IPPROTO_TCP
		keep int
	}{
		{"the defaults", tcp.Config{}, map[int]int{
			unix.TCP_NODELAY: 1, unix.TCP_KEEPIDLE: 5, unix.TCP_KEEPINTVL: 2, unix.TCP_KEEPCNT: 3, unix.TCP_USER_TIMEOUT: 10_000,
		}, 1},
		{"others", tcp.Config{
			KeepaliveIdle: 7e9, KeepaliveInterval: 3e9, UserTimeout: 1500e6, CongestionControl: "reno",
		}, map[int]int{
			unix.TCP_NODELAY: 1, unix.TCP_KEEPIDLE: 7, unix.TCP_KEEPINTVL: 3, unix.TCP_KEEPCNT: 3, unix.TCP_USER_TIMEOUT: 1500,
		}, 1},
		{"none", tcp.Config{KeepaliveIdle: -1, UserTimeout: -1}, map[int]int{unix.TCP_USER_TIMEOUT: 0}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, newWatcher(), tt.cfg, netio.Params{})
			client := newWatcher()
			dialer := openBackend(t, client, tt.cfg)
			if err := dialer.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
				t.Fatalf("OpenEndpoint: got error %v, want none", err)
			}
			for side, on := range map[string]struct {
				backend netio.Backend
				watcher *watcher
			}{"accepted": {s.b, s.watcher}, "opened": {dialer, client}} {
				ep := next(t, "OnConnectionEstablished", on.watcher.Established)
				descriptor := make(chan int, 1)
				on.backend.Loop().Post(func() { descriptor <- tcp.FD(ep) })
				fd := next(t, "the descriptor", descriptor)
				for option, want := range tt.want {
					if got, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, option); err != nil || got != want {
						t.Errorf("%s: TCP option %d: got %d and error %v, want %d", side, option, got, err, want)
					}
				}
				if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE); err != nil || got != tt.keep {
					t.Errorf("%s: SO_KEEPALIVE: got %d and error %v, want %d", side, got, err, tt.keep)
				}
				if name := tt.cfg.CongestionControl; name != "" {
					if got, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err != nil || got != name {
						t.Errorf("%s: TCP_CONGESTION: got %q and error %v, want %q", side, got, err, name)
					}
				}
			}
		})
	}
}

func TestBackend_refusesAnUnknownCongestionControl(t *testing.T) {
	b := openBackend(t, newWatcher(), tcp.Config{CongestionControl: "nosuch"})
	_, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if want := `TCP_CONGESTION to "nosuch"`; err == nil || !errors.Is(err, unix.ENOENT) {
		t.Errorf("OpenListenEndpoint: got error %v, want one about %s", err, want)
	}
	if err := b.OpenEndpoint(netip.MustParseAddrPort("127.0.0.1:9"), netio.Params{}); !errors.Is(err, unix.ENOENT) {
		t.Errorf("OpenEndpoint: got error %v, want %v", err, unix.ENOENT)
	}
}
