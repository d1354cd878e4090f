// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"testing"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// A read takes what the budget allows, but a frame that is begun is read to its
// end, and with it the next length.
func TestEndpoint_readsWithinTheBudget(t *testing.T) {
	const page, budget, full = 130_900, 16 << 10, 256 << 10
	tests := []struct {
		name         string
		size, budget int
		most, least  int // of the longest read
	}{
		{"small messages", 1000, budget, budget, budget},
		{"messages of some KiB", 20_000, budget, 4 + 20_000 + 4, budget},
		{"pages, one at a time", page, budget, 4 + page + 4, 4 + page},
		{"pages, as many as there is room for", page, full, 2*(4+page) + 4, 2 * (4 + page)},
		{"messages of 1 MiB", 1 << 20, budget, 1<<20 + 8, 1 << 20},
		{"small messages without other endpoints", 1000, full, full, full},
	}
	receivers := map[string]func(testing.TB, netio.ReceiveParams) *tcp.Receiver{"own memory": newReceiver, "lent memory": newLentReceiver}
	for memory, newReceiver := range receivers {
		for _, tt := range tests {
			t.Run(memory+", "+tt.name, func(t *testing.T) {
				r := newReceiver(t, netio.ReceiveParams{FirstMessageBytes: 2 << 20, MaxMessageBytes: 2 << 20})
				r.Budget = tt.budget
				messages := 0
				count := func(m []byte) {
					if messages++; len(m) != tt.size {
						t.Fatalf("message: got %d bytes, want %d", len(m), tt.size)
					}
				}
				one := frame(make([]byte, tt.size))
				stream := bytes.Repeat(one, 20+(1<<20)/tt.size)
				for range 3 { // in the first turn it learns the sizes
					r.LongestRead = 0
					if err := r.Turn(stream, count); err != nil {
						t.Fatalf("got error %v, want none", err)
					}
				}
				if got := r.LongestRead; got < tt.least || got > tt.most {
					t.Errorf("longest read: got %d bytes, want %d to %d", got, tt.least, tt.most)
				}
				if want := 3 * len(stream) / len(one); messages != want {
					t.Errorf("messages: got %d, want %d", messages, want)
				}
			})
		}
	}
}
