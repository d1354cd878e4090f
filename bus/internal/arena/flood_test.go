// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"testing"
)

// A buffer is cleared for a stream that has filled the one before, and for no other one: a
// lone message would pay for all of it.
func TestArena_clearsBuffersOfAFlood(t *testing.T) {
	const large = 4 * maxCleared
	for _, test := range []struct {
		name    string
		size    int // of a buffer
		written int // of the run before
		cleared int
	}{
		{"all of it", 1000, 1000, 1000},
		{"half of it", 1000, 500, 1000},
		{"a message", 1000, 40, 0},
		{"all of a large one", large, large, maxCleared},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newArena(t, 1, test.size)
			var tail Tail
			take := func() Piece {
				run, ok := a.Take(nil, &tail, 32)
				if !ok {
					t.Fatal("there is no buffer")
				}
				return run[0]
			}
			x := take()
			for i := range x.Mem {
				x.Mem[i] = 1
			}
			a.Written(&tail, test.written)
			x.Chunk.Release()
			a.mu.Lock()
			a.leave(&tail) // the only buffer is free again
			a.freeIdle(x.Chunk)
			a.mu.Unlock()
			x = take()
			defer a.Undo([]Piece{x})
			got := bytes.IndexByte(x.Mem, 1)
			if got < 0 {
				got = len(x.Mem)
			}
			if got != test.cleared || len(x.Mem) != test.size {
				t.Errorf("got %d of %d bytes cleared, want %d of %d", got, len(x.Mem), test.cleared, test.size)
			}
		})
	}
}
