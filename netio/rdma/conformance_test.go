// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"net/netip"
	"os"
	"slices"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
)

// opener opens backends with cfg.
func opener(cfg rdma.Config) backendtest.Opener {
	return func(loop *reactor.EventLoop) netio.Opener { return rdma.Opener(loop, cfg) }
}

// openBackend opens a backend on a loop of its own, for the time of the test.
func openBackend(t netiotest.TB, h netio.Handler, cfg rdma.Config) netio.Backend {
	t.Helper()
	b, _ := openBackendLoop(t, h, cfg)
	return b
}

func openBackendLoop(t netiotest.TB, h netio.Handler, cfg rdma.Config) (netio.Backend, *backendtest.Runner) {
	t.Helper()
	return openBackendOn(t, reactor.Config{}, h, cfg)
}

func openBackendOn(t netiotest.TB, loopConfig reactor.Config, h netio.Handler, cfg rdma.Config) (netio.Backend, *backendtest.Runner) {
	t.Helper()
	return backendtest.Open(t, loopConfig, h, opener(cfg))
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
func messageBytes() int { return netiotest.Few(testkit.Fewer(1<<20), 128<<10) }

// suite describes backends to the conformance suite.
func suite(cfg rdma.Config) netiotest.Suite {
	s := backendtest.Suite(loopback(), func(base netio.Config) backendtest.Opener {
		cfg := cfg
		cfg.Config = base
		return opener(cfg)
	})
	s.Config = cfg.Config
	s.Capabilities = netio.Capabilities{Receive: true, Buffered: true, ZeroCopy: true}
	s.Endpoints = netiotest.Few(200, 20)
	s.MessageBytes = messageBytes()
	return s
}

// shortSuites are the configurations that are left with -short: together both
// kinds of buffers and both models of threads; under the race detector the one
// with all there is to race for.
func shortSuites() []string {
	if testkit.Race {
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
	for i, tt := range tests {
		for _, model := range []netio.ThreadSafety{netio.Safe, netio.Unsafe} {
			t.Run(tt.name+", "+model.String(), func(t *testing.T) {
				if !testing.Short() {
					backendtest.OnlyModel(t, i == 0, model)
				} else if !slices.Contains(shortSuites(), tt.name+", "+model.String()) {
					t.Skip("left out with -short")
				}
				tt.cfg.ThreadSafety = model
				s := suite(rdma.Config{Config: tt.cfg, Provider: provider()})
				s.ReceiveBuffers = tt.receiveBuffers
				// One of several buffers of its own can be spared.
				s.Capabilities.Retain = tt.receiveBuffers != 1 && !tt.cfg.SharedReceive.Enabled()
				s.Violations = backendtest.Violations(t)
				netiotest.Run(t, s)
			})
		}
	}
}
