// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"testing"

	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// TestEndpoint_slowCallbacksEndTheTurn: a handler that took a microsecond for each of many small
// messages kept the loop from its other work until all that may be read in a turn had
// been read. The test lets each look at the time find that it is over.
func TestEndpoint_slowCallbacksEndTheTurn(t *testing.T) {
	tests := []struct {
		name      string
		endpoints int
		size      int // of a message
		most      int // bytes delivered in a step
	}{
		{"one endpoint with small messages", 1, 100, 2*tcp.LateBytes + 200},
		{"many endpoints with small messages", 20, 100, 2*tcp.LateBytes + 200},
		{"pages", 4, 100_000, 3 * 100_000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFlood(t, tcp.Config{}, test.endpoints, test.size)
			tcp.SetTurnTime(0) // newFlood sets it back
			f.delivered = make(map[netio.Endpoint]int)
			all := func() (sum int) {
				for _, n := range f.delivered {
					sum += n
				}
				return sum
			}
			want := floodBytes / f.frame * test.size
			for step := 0; all() < want*test.endpoints; step++ {
				before := all()
				if step == 0 {
					for _, ep := range f.eps {
						tcp.Event(ep, reactor.Readable)
					}
				} else {
					tcp.EndTurn(f.b)
				}
				switch n := all() - before; {
				case n == 0:
					t.Fatalf("step %d: got nothing, and %d of %d bytes in all", step, before, want*test.endpoints)
				case n > test.most:
					t.Fatalf("step %d: got %d bytes, want at most %d", step, n, test.most)
				}
			}
			for _, ep := range f.eps {
				if n := f.delivered[ep]; n != want {
					t.Errorf("an endpoint has delivered %d bytes, want %d", n, want)
				}
			}
		})
	}
}
