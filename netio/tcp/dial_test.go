// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

func TestBackend_OpenEndpoint_errorsNameTheAddress(t *testing.T) {
	b := openBackend(t, newWatcher(), tcp.Config{})
	for name, addr := range map[string]netip.AddrPort{
		"the zero address":             {},
		"port 0":                       netip.MustParseAddrPort("127.0.0.1:0"),
		"no host, IPv4":                netip.MustParseAddrPort("0.0.0.0:1234"),
		"no host, IPv6":                netip.MustParseAddrPort("[::]:1234"),
		"no host, IPv4 mapped to IPv6": netip.MustParseAddrPort("[::ffff:0.0.0.0]:1234"),
		"a zone that does not exist":   netip.MustParseAddrPort("[fe80::1%nosuch]:1234"),
	} {
		t.Run(name, func(t *testing.T) {
			err := b.OpenEndpoint(addr, netio.Params{})
			var op *netio.OpError
			if !errors.Is(err, netio.ErrInvalidAddress) || !errors.As(err, &op) || op.Addr != addr {
				t.Errorf("got error %v, want an *OpError about %v that wraps %v", err, addr, netio.ErrInvalidAddress)
			}
		})
	}
}

func TestBackend_OpenEndpoint_onePerAddressInWhateverForm(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	w := newWatcher()
	b := openBackend(t, w, tcp.Config{})
	addr := mapped(s.l.Addr())
	if err := b.OpenEndpoint(addr, netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	if err := b.OpenEndpoint(s.l.Addr(), netio.Params{}); !errors.Is(err, netio.ErrEndpointExists) {
		t.Errorf("OpenEndpoint of the same address in IPv4 form: got error %v, want %v", err, netio.ErrEndpointExists)
	}
	ep := next(t, "OnConnectionEstablished", w.Established)
	if got := ep.Remote(); got != addr {
		t.Errorf("Remote: got %v, want the address given to OpenEndpoint, %v", got, addr)
	}
	accepted := next(t, "OnConnectionEstablished", s.Established)
	if got, want := accepted.Remote(), ep.Local(); got != want || !got.Addr().Is4() {
		t.Errorf("Remote of the other end: got %v, want the IPv4 address %v", got, want)
	}
}

// TestBackend_OpenEndpoint_connectionToItself binds the socket of an endpoint, before it connects,
// to the address that it is going to connect to: what happens by chance when
// the port is one that the system gives out.
func TestBackend_OpenEndpoint_connectionToItself(t *testing.T) {
	free := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	addr := free.l.Addr()
	if err := free.b.Close(); err != nil {
		t.Fatalf("Backend.Close: got error %v, want none", err)
	}
	w := newWatcher()
	loop := backendtest.NewRunner(t, reactor.Config{})
	b, err := tcp.Opener(loop.EventLoop, tcp.Config{})(w)
	if err != nil {
		t.Fatalf("open backend: got error %v, want none", err)
	}
	if err := b.OpenEndpoint(addr, netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	if err := unix.Bind(tcp.PendingFD(b), &unix.SockaddrInet4{Addr: addr.Addr().As4(), Port: int(addr.Port())}); err != nil {
		t.Fatalf("bind: got error %v, want none", err)
	}
	loop.Start()
	if err := next(t, "OnConnectionRefused", w.Refused); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("OnConnectionRefused: got error %v, want %v", err, syscall.ECONNREFUSED)
	}
	if err := b.Close(); err != nil {
		t.Errorf("Backend.Close: got error %v, want none", err)
	}
	if len(w.Established) != 0 {
		t.Errorf("OnConnectionEstablished: got one, want none")
	}
	loop.End(t)
	if err := loop.Close(); err != nil {
		t.Errorf("close the loop: got error %v, want none", err)
	}
}

// silent returns an address that does not answer: its queue of connections is
// full, so the system drops further ones.
func silent(tb testing.TB) netip.AddrPort {
	tb.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		tb.Fatalf("socket: got error %v, want none", err)
	}
	tb.Cleanup(func() { _ = unix.Close(fd) })
	at := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := errors.Join(unix.Bind(fd, at), unix.Listen(fd, 0)); err != nil {
		tb.Fatalf("listen: got error %v, want none", err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		tb.Fatalf("getsockname: got error %v, want none", err)
	}
	at.Port = sa.(*unix.SockaddrInet4).Port
	for range 2 {
		c, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			tb.Fatalf("socket: got error %v, want none", err)
		}
		tb.Cleanup(func() { _ = unix.Close(c) })
		if err := unix.Connect(c, at); err != nil && !errors.Is(err, unix.EINPROGRESS) {
			tb.Fatalf("connect: got error %v, want none", err)
		}
	}
	return netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port))
}

func TestBackend_OpenEndpoint_timesOut(t *testing.T) {
	w := newWatcher()
	b := openBackend(t, w, tcp.Config{})
	began := time.Now()
	limits := []time.Duration{300 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond}
	addrs := map[netip.AddrPort]time.Duration{}
	for _, limit := range limits {
		addr := silent(t)
		addrs[addr] = limit
		if err := b.OpenEndpoint(addr, netio.Params{ConnectTimeout: limit}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
	}
	before := time.Duration(0)
	for range limits {
		err := next(t, "OnConnectionRefused", w.Refused)
		took := time.Since(began)
		var op *netio.OpError
		if !errors.Is(err, netio.ErrTimeout) || !errors.As(err, &op) {
			t.Fatalf("OnConnectionRefused: got error %v, want an *OpError that wraps %v", err, netio.ErrTimeout)
		}
		limit := addrs[op.Addr]
		if limit <= before || took < limit {
			t.Errorf("OnConnectionRefused after %v: got the one with a limit of %v, want it after its limit and those before it", took, limit)
		}
		before = limit
	}
	if got := b.Stats().Refused; got != 3 {
		t.Errorf("Stats.Refused: got %d, want 3", got)
	}
}
