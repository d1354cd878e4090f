// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"testing"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// TestEndpoint_receivePoolSizes asserts how much memory there is.
func TestEndpoint_receivePoolSizes(t *testing.T) {
	tests := []struct {
		name    string
		cfg     tcp.Config
		receive netio.ReceiveParams
		backend int // bytes of the pool of each, 0: it has none
		listen  int
		own     int
	}{
		{"none", tcp.Config{}, netio.ReceiveParams{}, 0, 0, 0},
		{"of the backend: a message and its length, in lines of 64 bytes", shared(3, 10_000), netio.ReceiveParams{}, 3 * 10_048, 0, 3 * 10_048},
		{"small ones have 4 KiB each", shared(3, 1), netio.ReceiveParams{}, 3 * 4096, 0, 3 * 4096},
		{
			"of the listen endpoint",
			tcp.Config{},
			netio.ReceiveParams{Buffers: 5, MaxMessageBytes: 10_000, Shared: true},
			0, 5 * 10_048, 5 * 10_048,
		},
		{"of one endpoint: in one piece", tcp.Config{}, netio.ReceiveParams{Buffers: 16, MaxMessageBytes: 1020}, 0, 0, 16 * 1024},
		{"a small one of one endpoint has 4 KiB", tcp.Config{}, netio.ReceiveParams{Buffers: 2, MaxMessageBytes: 1}, 0, 0, 4096},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, newWatcher(), tt.cfg, netio.Params{Receive: tt.receive})
			_, ep := s.dialRaw(t)
			bytesOf := func(owner any) int {
				p := tcp.ReceivePoolOf(owner)
				if p.None() {
					return 0
				}
				return p.Bytes()
			}
			onLoop(t, s.b.Loop(), func() {
				if got := bytesOf(s.b); got != tt.backend {
					t.Errorf("backend: got %d bytes, want %d", got, tt.backend)
				}
				if got := bytesOf(s.l); got != tt.listen {
					t.Errorf("listen endpoint: got %d bytes, want %d", got, tt.listen)
				}
				if got := bytesOf(ep); got != tt.own {
					t.Errorf("endpoint: got %d bytes, want %d", got, tt.own)
				}
			})
		})
	}
}

// TestEndpoint_ownersEndWithPartsInTheirBuffers ends a listen endpoint, and a backend,
// whose endpoints have buffers and wait for them: all come back.
func TestEndpoint_ownersEndWithPartsInTheirBuffers(t *testing.T) {
	for _, kind := range receiveKinds {
		for _, end := range []string{"endpoint", "listen endpoint", "backend"} {
			t.Run(kind.name+", end of the "+end, func(t *testing.T) {
				s := serve(t, newWatcher(), kind.cfg, netio.Params{Receive: kind.receive})
				const peers = 5
				var pool tcp.ReceivePool
				var eps []netio.Endpoint
				for range peers {
					c, ep := s.dialRaw(t)
					write(t, c, frame(make([]byte, 100))[:50])
					eps = append(eps, ep)
				}
				onLoop(t, s.b.Loop(), func() { pool = kind.pool(s, eps[0]) })
				own := kind.name == "of its own"
				waitFor(t, s.b.Loop(), "parts", func() bool {
					return pool.Used() == 1 && (own || len(pool.Waiting()) == peers-1)
				})
				switch end {
				case "endpoint":
					for _, ep := range eps {
						_ = ep.Close()
					}
				case "listen endpoint":
					_ = s.l.Close()
				case "backend":
					_ = s.b.Close()
				}
				for range peers {
					if end := next(t, "OnConnectionClosed", s.Closed); end.Cause != nil {
						t.Errorf("cause: got %v, want none", end.Cause)
					}
				}
				if used := pool.Used(); used != 0 {
					t.Errorf("buffers in use: got %d, want none", used)
				}
				// The pool ends with its owner, and with what the owner belongs to.
				want := own || end == "backend" || end == "listen endpoint" && kind.name == "of the listen endpoint"
				if got := pool.Freed(); got != want {
					t.Errorf("the memory is given back: got %v, want %v", got, want)
				}
			})
		}
	}
}
