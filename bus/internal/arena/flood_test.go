// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"testing"
)

// The memory of a flood is cleared, and none of a lone message, which would pay for a whole buffer.
func TestWarm(t *testing.T) {
	const large = 4 * maxWarmed
	for _, test := range []struct {
		name    string
		buffers int
		size    int // of a buffer
		before  int // bytes of the run before
		run     int // bytes
		cleared int
	}{
		{"behind a full buffer", 2, 1000, 1000, 40, 1000},
		{"behind half of one", 2, 1000, 500, 600, 1000},
		{"behind a message", 2, 1000, 40, 970, 0},
		{"in a large buffer", 2, large, large, 40, maxWarmed},
		{"several buffers, behind a rest", 4, 1000, 40, 2500, 2000},
		{"the rest of a buffer", 2, 1000, 500, 40, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newArena(t, test.buffers, test.size)
			for i := range a.pool.Region() {
				a.pool.Region()[i] = 1
			}
			var tail Tail
			if _, ok := a.Take(nil, &tail, 32); !ok {
				t.Fatal("there is no buffer")
			}
			a.Written(&tail, test.before)
			run, ok := a.Take(nil, &tail, test.run)
			if !ok {
				t.Fatal("there is no buffer for the run")
			}
			Warm(run...)
			if got := bytes.Count(a.pool.Region(), []byte{0}); got != test.cleared {
				t.Errorf("got %d bytes cleared, want %d", got, test.cleared)
			}
		})
	}
}

// A loan is warmed alone: what is beside it in its buffer may belong to others.
func TestWarm_loan(t *testing.T) {
	a := newArena(t, 1, 1000)
	for i := range a.pool.Region() {
		a.pool.Region()[i] = 1
	}
	var tail Tail
	for _, n := range []int{600, 300} {
		x, ok := a.TakeWhole(&tail, n)
		if !ok {
			t.Fatal("there is no buffer")
		}
		Warm(x)
	}
	if got := bytes.Count(a.pool.Region()[:600], []byte{0}); got != 600 || bytes.Count(a.pool.Region(), []byte{0}) != 600 {
		t.Errorf("got %d bytes cleared, want those of the first loan, 600", got)
	}
}
