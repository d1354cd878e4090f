// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"net/netip"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// opener opens backends with cfg.
func opener(cfg tcp.Config) backendtest.Opener {
	return func(loop *reactor.EventLoop) netio.Opener { return tcp.Opener(loop, cfg) }
}

// openBackend opens a backend on a loop of its own, for the time of the test.
func openBackend(t netiotest.TB, h netio.Handler, cfg tcp.Config) netio.Backend {
	t.Helper()
	b, _ := openBackendLoop(t, h, cfg)
	return b
}

func openBackendLoop(t netiotest.TB, h netio.Handler, cfg tcp.Config) (netio.Backend, *backendtest.Runner) {
	t.Helper()
	return openBackendOn(t, reactor.Config{}, h, cfg)
}

func openBackendOn(t netiotest.TB, loopConfig reactor.Config, h netio.Handler, cfg tcp.Config) (netio.Backend, *backendtest.Runner) {
	t.Helper()
	return backendtest.Open(t, loopConfig, h, opener(cfg))
}

// suite describes backends to the conformance suite.
func suite(listen string, cfg tcp.Config) netiotest.Suite {
	s := backendtest.Suite(netip.MustParseAddrPort(listen), func(base netio.Config) backendtest.Opener {
		cfg := cfg
		cfg.Config = base
		return opener(cfg)
	})
	s.Config = cfg.Config
	s.Reset = backendtest.Reset(tcp.BreakConnection)
	s.Capabilities = netio.Capabilities{Receive: true, Buffered: true, ZeroCopy: true, Immediate: true, Direct: true, AnyMemory: true, Retain: !cfg.SharedReceive.Enabled()}
	return s
}

func TestConformance(t *testing.T) {
	largest := testkit.Fewer(1 << 20) // as of the suite
	shared := netio.Config{
		SharedReceive: netio.SharedBuffers{Buffers: 8, BufferBytes: largest},
		SharedSend:    netio.SharedBuffers{Buffers: 8, BufferBytes: 8 << 10},
	}
	narrow := tcp.WithAcceptBudget(tcp.WithReadBudget(tcp.Config{SendBufferBytes: 1, ReceiveBufferBytes: 16384}, 4<<10), 1)
	narrowShared := narrow
	narrowShared.Config = shared
	tests := []struct {
		name           string
		listen         string
		cfg            tcp.Config
		receiveBuffers int
	}{
		{"IPv4", "127.0.0.1:0", tcp.Config{}, 0},
		{"IPv6", "[::1]:0", tcp.Config{}, 2},
		{"small socket buffers and budgets", "127.0.0.1:0", narrow, 0},
		{"shared buffers", "127.0.0.1:0", narrowShared, 0},
		{"TLS", "127.0.0.1:0", withTLS(t, tcp.Config{}), 0},
		{"TLS, small socket buffers and budgets", "[::1]:0", withTLS(t, narrow), 2},
		{"TLS, shared buffers", "127.0.0.1:0", withTLS(t, narrowShared), 0},
	}
	for i, tt := range tests {
		for _, model := range []netio.ThreadSafety{netio.Safe, netio.Unsafe} {
			t.Run(tt.name+", "+model.String(), func(t *testing.T) {
				backendtest.OnlyModel(t, i == 0, model)
				tt.cfg.ThreadSafety = model
				s := suite(tt.listen, tt.cfg)
				if s.ReceiveBuffers = tt.receiveBuffers; s.ReceiveBuffers > 0 {
					s.Capabilities.Retain = false
				}
				s.Violations = backendtest.Violations(t)
				netiotest.Run(t, s)
			})
		}
	}
}
