//go:build libfabric && cgo

package rdma_test

import (
	"context"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/invariants"
	"tagbus/netio/netiotest"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
)

// runner is a loop with the goroutine that runs it.
type runner struct {
	*reactor.EventLoop
	ended chan error
	once  sync.Once
}

func newRunner(t netiotest.TB, cfg reactor.Config) *runner {
	t.Helper()
	loop, err := reactor.New(cfg)
	if err != nil {
		t.Fatalf("reactor.New: got error %v, want none", err)
	}
	return &runner{EventLoop: loop, ended: make(chan error, 1)}
}

func (r *runner) start() { go func() { r.ended <- r.Run(context.Background()) }() }

// end ends the loop, waits for that, and returns the error of Run once.
func (r *runner) end() (err error) {
	r.once.Do(func() {
		r.Stop()
		err = <-r.ended
	})
	return err
}

// stop ends the loop and waits for that.
func (r *runner) stop(t netiotest.TB) {
	t.Helper()
	if err := r.end(); err != nil {
		t.Errorf("Run: got error %v, want none", err)
	}
}

// startLoop returns a loop that runs until the end of the test, and has no
// sources left then.
func startLoop(t netiotest.TB, cfg reactor.Config) *runner {
	t.Helper()
	r := newRunner(t, cfg)
	r.start()
	t.Cleanup(func() {
		r.stop(t)
		if err := r.Close(); err != nil {
			t.Errorf("close the loop: got error %v, want none", err)
		}
	})
	return r
}

// openBackend opens a backend on a loop of its own, for the time of the test.
func openBackend(t netiotest.TB, h netio.Handler, cfg rdma.Config) netio.Backend {
	t.Helper()
	b, _ := openBackendLoop(t, h, cfg)
	return b
}

func openBackendLoop(t netiotest.TB, h netio.Handler, cfg rdma.Config) (netio.Backend, *runner) {
	t.Helper()
	return openBackendOn(t, reactor.Config{}, h, cfg)
}

func openBackendOn(t netiotest.TB, loopConfig reactor.Config, h netio.Handler, cfg rdma.Config) (netio.Backend, *runner) {
	t.Helper()
	r := startLoop(t, loopConfig)
	b, err := rdma.Opener(r.EventLoop, cfg)(h)
	if err != nil {
		t.Fatalf("open backend: got error %v, want none", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Backend.Close: got error %v, want none", err)
		}
	})
	return b, r
}

// provider is what the tests use: that of NETIO_RDMA_PROV, or tcp, which runs
// everywhere.
func provider() string {
	if p := os.Getenv("NETIO_RDMA_PROV"); p != "" {
		return p
	}
	return rdma.ProviderTCP
}

// loopback is an address of this machine that the provider has, with port 0.
func loopback() netip.AddrPort {
	host := os.Getenv("NETIO_RDMA_ADDR")
	if host == "" {
		host = "127.0.0.1"
	}
	return netip.AddrPortFrom(netip.MustParseAddr(host), 0)
}

// messageBytes is the largest message of the suites.
func messageBytes() int { return netiotest.Few(1<<20, 128<<10) }

// suite describes backends to the conformance suite.
func suite(cfg rdma.Config) netiotest.Suite {
	var loops sync.Map // netio.Backend → *runner
	return netiotest.Suite{
		Open: func(t netiotest.TB, base netio.Config, h netio.Handler) netio.Backend {
			cfg := cfg
			cfg.Config = base
			b, r := openBackendLoop(t, h, cfg)
			loops.Store(b, r)
			return b
		},
		Config:       cfg.Config,
		ListenAddr:   loopback(),
		DeadAddr:     func(t netiotest.TB) netip.AddrPort { return takenPort(t, loopback().Addr()) },
		Capabilities: netio.Capabilities{Receive: true, Buffered: true, ZeroCopy: true},
		Endpoints:    netiotest.Few(200, 20),
		MessageBytes: messageBytes(),
		StopLoop: func(b netio.Backend) {
			r, _ := loops.Load(b)
			_ = r.(*runner).end()
		},
	}
}

// takenPort returns an address on which nobody listens: it belongs, for the time
// of the test, to a socket that does not listen. The system gives the port of a
// closed listener to the next one who asks.
func takenPort(t netiotest.TB, host netip.Addr) netip.AddrPort {
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

// violations lets suites see what a build with invariants notices, until the end
// of the test. In other builds it returns nil.
func violations(t *testing.T) func() []string {
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

// shortSuites are the configurations that are left with -short: together both
// kinds of buffers and both models of threads; under the race detector the one
// with all there is to race for.
func shortSuites() []string {
	if raceBuild {
		return []string{"few receive buffers, safe"}
	}
	return []string{"few receive buffers, safe", "shared buffers, unsafe"}
}

func TestConformance(t *testing.T) {
	tests := []struct {
		name           string
		cfg            netio.Config
		receiveBuffers int
	}{
		{"default buffers", netio.Config{}, 0},
		{"few receive buffers", netio.Config{}, 2},
		{"one receive buffer", netio.Config{}, 1},
		{"shared buffers", netio.Config{
			SharedReceive: netio.SharedBuffers{Buffers: 8, BufferBytes: messageBytes()},
			SharedSend:    netio.SharedBuffers{Buffers: 8, BufferBytes: 8 << 10},
		}, 0},
	}
	for _, tt := range tests {
		for _, model := range []netio.ThreadSafety{netio.Safe, netio.Unsafe} {
			t.Run(tt.name+", "+model.String(), func(t *testing.T) {
				if testing.Short() && !slices.Contains(shortSuites(), tt.name+", "+model.String()) {
					t.Skip("left out with -short")
				}
				tt.cfg.ThreadSafety = model
				s := suite(rdma.Config{Config: tt.cfg, Provider: provider()})
				s.ReceiveBuffers = tt.receiveBuffers
				// One of several buffers of its own can be spared.
				s.Capabilities.Retain = tt.receiveBuffers != 1 && !tt.cfg.SharedReceive.Enabled()
				s.Violations = violations(t)
				netiotest.Run(t, s)
			})
		}
	}
}
