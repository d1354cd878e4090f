// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"net/netip"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
)

// Suite returns a suite of backends that open opens with a netio.Config, each on
// a loop of its own. They listen at addr, whose port is 0. What the backends can
// do is for the caller to add.
func Suite(addr netip.AddrPort, open func(netio.Config) Opener) netiotest.Suite {
	var loops sync.Map // netio.Backend → *Runner
	return netiotest.Suite{
		Open: func(t netiotest.TB, cfg netio.Config, h netio.Handler) netio.Backend {
			b, r := Open(t, reactor.Config{}, h, open(cfg))
			loops.Store(b, r)
			return b
		},
		ListenAddr: addr,
		DeadAddr:   func(t netiotest.TB) netip.AddrPort { return TakenPort(t, addr.Addr()) },
		StopLoop: func(b netio.Backend) {
			r, _ := loops.Load(b)
			_ = r.(*Runner).end()
		},
	}
}

// Reset returns a Suite.Reset that does what breaks an endpoint of the backend.
func Reset(breaks func(netio.Endpoint)) func(a, b netio.Endpoint) {
	return func(a, _ netio.Endpoint) {
		if m, ok := a.(interface{ Unwrap() netio.Endpoint }); ok {
			a = m.Unwrap()
		}
		breaks(a)
	}
}

// OwnHost returns a loopback address for this process and port 0. Random walks
// dial ports that are no longer listened on, and those of 127.0.0.1 may have
// been given to the test of another process meanwhile.
func OwnHost() netip.AddrPort {
	pid := os.Getpid()
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(100 + pid>>16), byte(pid >> 8), byte(pid)}), 0)
}

// TakenPort returns an address that refuses connections: it belongs, for the time of
// the test, to a socket that does not listen. The port of a closed listener could be
// given to another socket at once.
func TakenPort(t netiotest.TB, host netip.Addr) netip.AddrPort {
	t.Helper()
	family, at := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Addr: host.As16()})
	if host.Is4() {
		family, at = unix.AF_INET, &unix.SockaddrInet4{Addr: host.As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("socket: got error %v, want none", err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, at); err != nil {
		t.Fatalf("bind: got error %v, want none", err)
	}
	got, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatalf("getsockname: got error %v, want none", err)
	}
	switch got := got.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(host, uint16(got.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(host, uint16(got.Port))
	}
	t.Fatalf("getsockname: got %T, want an address of the internet", got)
	return netip.AddrPort{}
}

// Violations lets suites see what a build with invariants notices, until the end
// of the test. In other builds it returns nil.
func Violations(t netiotest.TB) func() []string {
	t.Helper()
	if !invariants.Enabled {
		return nil
	}
	reports, stop := invariants.Record()
	t.Cleanup(func() {
		left := reports()
		stop()
		if len(left) > 0 {
			t.Errorf("reports of broken rules: got %q, want none", left)
		}
	})
	return reports
}

// OpenFiles returns the number of descriptors of the process, with the two that
// the runtime opens for the first pipe or socket and keeps.
func OpenFiles(t netiotest.TB) int {
	t.Helper()
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close()
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatalf("ReadDir: got error %v, want none", err)
	}
	return len(entries)
}
