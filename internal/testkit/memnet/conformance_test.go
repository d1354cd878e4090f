// SPDX-License-Identifier: Apache-2.0

package memnet_test

import (
	"net/netip"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/netio/netiotest"
)

// memorySuite is the suite of the in-memory backend: on one network, each
// backend on a loop of its own, or all on one loop.
func memorySuite(n *memnet.Network, cfg memnet.Config, shared *memnet.Loop) netiotest.Suite {
	seen := 0
	s := netiotest.Suite{
		Config:     cfg.Config,
		ListenAddr: netip.MustParseAddrPort("127.0.0.1:0"),
		Capabilities: netio.Capabilities{
			Receive: true, Buffered: true, ZeroCopy: true, Immediate: !cfg.NoImmediate, Direct: !cfg.NoDirect, Retain: !cfg.SharedReceive.Enabled(),
			AnyMemory: !cfg.RegionOnly,
		},
		Reset: func(a, b netio.Endpoint) { n.Reset(a.Local(), b.Local()) },
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
			l = memnet.NewLoop()
			t.Cleanup(l.Close)
		}
		return openBackend(t, n.Opener(l, cfg), h)
	}
	if shared == nil {
		s.StopLoop = func(b netio.Backend) { b.Loop().(*memnet.Loop).Close() }
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

// inPart makes SendDirect take a third of all sizes whole, and half of another third.
func inPart(size int) int { return size * (size % 3) / 2 }

func TestMemoryKeepsTheContract(t *testing.T) {
	shared := netio.Config{
		SharedReceive: netio.SharedBuffers{Buffers: 6},
		SharedSend:    netio.SharedBuffers{Buffers: 4, BufferBytes: 4 << 10},
	}
	unsafe := func(c netio.Config) netio.Config {
		c.ThreadSafety = netio.Unsafe
		return c
	}
	tests := []struct {
		name           string
		cfg            memnet.Config
		oneLoop        bool
		window         int // bytes; 0: the default
		receiveBuffers int
	}{
		{name: "from every goroutine"},
		{name: "with narrow windows and receive buffers", window: 1000, receiveBuffers: 1},
		{name: "taking direct sends in part", cfg: memnet.Config{Direct: inPart}},
		{name: "on one loop without immediate and direct sends", oneLoop: true, cfg: memnet.Config{NoImmediate: true, NoDirect: true, RegionOnly: true}},
		{name: "with shared buffers", cfg: memnet.Config{Config: shared}},
		{name: "with shared buffers and narrow windows on one loop", cfg: memnet.Config{Config: shared}, oneLoop: true, window: 7000},
		{name: "unsafe", cfg: memnet.Config{Config: unsafe(netio.Config{})}},
		{name: "unsafe on one loop with shared buffers", cfg: memnet.Config{Config: unsafe(shared)}, oneLoop: true},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			backendtest.OnlyModel(t, i == 0, tt.cfg.ThreadSafety)
			netiotest.CheckLeaks(t)
			var l *memnet.Loop
			if tt.oneLoop {
				l = memnet.NewLoop()
				t.Cleanup(l.Close)
			}
			n := memnet.New()
			if tt.window > 0 {
				n.SetWindow(netip.AddrPort{}, netip.AddrPort{}, tt.window)
			}
			s := memorySuite(n, tt.cfg, l)
			if s.ReceiveBuffers = tt.receiveBuffers; s.ReceiveBuffers > 0 {
				s.Capabilities.Retain = false
			}
			netiotest.Run(t, s)
			if got := s.Violations(); len(got) > 0 {
				t.Errorf("Violations: got %q, want none", got)
			}
		})
	}
}
