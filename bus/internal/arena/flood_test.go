// SPDX-License-Identifier: Apache-2.0

package arena

import "testing"

// A buffer is cleared for a stream that has filled the one before, and for no other one: a
// lone message would pay for all of it.
func TestArena_clearsBuffersOfAFlood(t *testing.T) {
	const size = 1000
	for _, test := range []struct {
		name    string
		written int // of the run before
		cleared bool
	}{
		{"all of it", size, true},
		{"half of it", size / 2, true},
		{"a message", 40, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newArena(t, 1, size)
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
			if got := x.Mem[0] == 0 && x.Mem[len(x.Mem)-1] == 0; got != test.cleared || len(x.Mem) != size {
				t.Errorf("got %d bytes, cleared: %v, want %d, %v", len(x.Mem), got, size, test.cleared)
			}
		})
	}
}
