// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"net/netip"
	"os"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// opener opens backends with cfg.
func opener(cfg shm.Config) backendtest.Opener {
	return func(loop *reactor.EventLoop) netio.Opener { return shm.Opener(loop, cfg) }
}

// folder returns a folder for sockets, until the end of the test. Its path is short, as
// that of a socket must be.
func folder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "shm") //nolint:usetesting // that of TempDir may be too long
	if err != nil {
		tb.Fatalf("MkdirTemp: got error %v, want none", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// suite describes backends to the conformance suite.
func suite(tb testing.TB, cfg shm.Config) netiotest.Suite {
	tb.Helper()
	cfg.Folder = folder(tb)
	s := backendtest.Suite(netip.MustParseAddrPort("127.0.0.1:0"), func(base netio.Config) backendtest.Opener {
		cfg := cfg
		cfg.Config = base
		return opener(cfg)
	})
	s.Config = cfg.Config
	s.Reset = backendtest.Reset(shm.BreakConnection)
	s.Capabilities = netio.Capabilities{Receive: true, Buffered: true, ZeroCopy: true, Immediate: true, Direct: true, AnyMemory: true, CopyOther: true, InPlace: true, Retain: true}
	return s
}

// narrow is a configuration with which nearly everything is done in part.
func narrow() shm.Config {
	return shm.WithAcceptBudget(shm.WithReadBudget(shm.Config{RingSlots: 16, ArenaBytes: 16 << 10}, 4<<10), 1)
}

func TestConformance(t *testing.T) {
	largest := testkit.Fewer(1 << 20) // as of the suite
	shared := narrow()
	shared.SharedReceive = netio.SharedBuffers{Buffers: 8, BufferBytes: largest}
	shared.SharedSend = netio.SharedBuffers{Buffers: 8, BufferBytes: 8 << 10}
	tests := []struct {
		name           string
		cfg            shm.Config
		region         func(int) ([]byte, error)
		receiveBuffers int
		tls            bool
	}{
		{"copied", shm.Config{}, nil, 0, false},
		{"lent", shm.Config{}, netio.AllocSharedRegion, 0, false},
		{"narrow, copied", narrow(), nil, 2, false},
		{"narrow, lent", narrow(), netio.AllocSharedRegion, 0, false},
		{"with certificates, copied", shm.Config{}, nil, 0, true},
		{"with certificates, lent", narrow(), netio.AllocSharedRegion, 0, true},
		{"narrow, shared buffers", shared, netio.AllocSharedRegion, 0, false},
	}
	for i, tt := range tests {
		for _, model := range []netio.ThreadSafety{netio.Safe, netio.Unsafe} {
			t.Run(tt.name+", "+model.String(), func(t *testing.T) {
				backendtest.OnlyModel(t, i == 0, model)
				tt.cfg.ThreadSafety = model
				if tt.tls {
					tt.cfg = withTLS(t, tt.cfg)
				}
				s := suite(t, tt.cfg)
				s.ReceiveBuffers = tt.receiveBuffers
				s.Region = tt.region
				s.Violations = backendtest.Violations(t)
				netiotest.Run(t, s)
			})
		}
	}
}
