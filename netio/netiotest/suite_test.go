package netiotest_test

import (
	"net/netip"
	"testing"

	"tagbus/netio"
	"tagbus/netio/netiotest"
)

// memorySuite is the suite of the in-memory backend: on one network, each
// backend on a loop of its own, or all on one loop.
func memorySuite(n *netiotest.Network, cfg netiotest.Config, shared *netiotest.Loop) netiotest.Suite {
	seen := 0
	s := netiotest.Suite{
		Config:       cfg.Config,
		ListenAddr:   netip.MustParseAddrPort("127.0.0.1:0"),
		Capabilities: netio.Capabilities{Receive: true, Buffered: true, ZeroCopy: true, Immediate: !cfg.NoImmediate},
		Reset:        func(a, b netio.Endpoint) { n.Reset(a.Local(), b.Local()) },
		Violations: func() []string {
			all := n.Violations()
			defer func() { seen = len(all) }()
			return all[seen:]
		},
	}
	s.Open = func(t netiotest.TB, base netio.Config, h netio.Handler) netio.Backend {
		t.Helper()
		cfg := cfg
		cfg.Config = base
		l := shared
		if l == nil {
			l = netiotest.NewLoop()
			t.Cleanup(l.Close)
		}
		return openBackend(t, n.Opener(l, cfg), h)
	}
	if shared == nil {
		s.StopLoop = func(b netio.Backend) { b.Loop().(*netiotest.Loop).Close() }
	}
	return s
}

// openBackend opens a backend that is closed at the end of the test.
func openBackend(t netiotest.TB, open netio.Opener, h netio.Handler) netio.Backend {
	t.Helper()
	b, err := open(h)
	if err != nil {
		t.Fatalf("open a backend: got error %v, want none", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Backend.Close: got error %v, want none", err)
		}
	})
	return b
}

func TestMemoryKeepsTheContract(t *testing.T) {
	netiotest.CheckLeaks(t)
	n := netiotest.NewNetwork()
	netiotest.Run(t, memorySuite(n, netiotest.Config{}, nil))
	if got := n.Violations(); len(got) > 0 {
		t.Errorf("Violations: got %q, want none", got)
	}
}

func TestMemoryKeepsTheContractOnOneLoop(t *testing.T) {
	l := netiotest.NewLoop()
	defer l.Close()
	netiotest.Run(t, memorySuite(netiotest.NewNetwork(), netiotest.Config{NoImmediate: true}, l))
}

func TestMemoryKeepsTheContractWithNarrowWindows(t *testing.T) {
	n := netiotest.NewNetwork()
	n.SetWindow(netip.AddrPort{}, netip.AddrPort{}, 1000)
	netiotest.Run(t, memorySuite(n, netiotest.Config{}, nil))
}
