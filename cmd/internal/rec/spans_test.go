// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSpansAreASetOfCounters compares them with a map, for counters in any order.
func TestSpansAreASetOfCounters(t *testing.T) {
	const most = 6000
	random := rand.New(rand.NewPCG(1, 2))
	orders := map[string]func(i int) uint64{
		"ascending":  func(i int) uint64 { return uint64(i) },
		"with holes": func(i int) uint64 { return 2 * uint64(i) },
		"descending": func(i int) uint64 { return uint64(2 * (most - i)) },
		"random":     func(int) uint64 { return random.Uint64N(most) },
		"the ends":   func(i int) uint64 { return uint64(i%2*-1) + uint64(i%3) },
	}
	for name, order := range orders {
		var s spans
		have := make(map[uint64]bool)
		for i := range most {
			n := order(i)
			if got := s.add(n); got == have[n] {
				t.Fatalf("%s: add %d: got %v, and it was there: %v", name, n, got, have[n])
			}
			have[n] = true
		}
		ranges := 0
		for i, c := range s.chunks {
			ranges += len(c)
			if len(c) == 0 || len(c) > mostInChunk || i > 0 && s.chunks[i-1][len(s.chunks[i-1])-1].last >= c[0].first {
				t.Fatalf("%s: chunk %d of %d ranges is out of order", name, i, len(c))
			}
		}
		if ranges != s.count {
			t.Errorf("%s: got %d ranges counted, and there are %d", name, s.count, ranges)
		}
		for n := range uint64(2*most + 2) {
			got, ok := s.next(n)
			if ok && (got <= n || !have[got]) {
				t.Fatalf("%s: next of %d: got %d, which is not there", name, n, got)
			}
			if have[n+1] && (!ok || got != n+1) {
				t.Fatalf("%s: next of %d: got %d and %v, want %d", name, n, got, ok, n+1)
			}
		}
		if _, ok := s.next(math.MaxUint64); ok {
			t.Errorf("%s: got a counter above the largest", name)
		}
	}
}

// TestSpansMoveLittle: each counter moves at most a chunk, and a place for each chunk.
func TestSpansMoveLittle(t *testing.T) {
	var s spans
	const n = 200_000
	for i := range uint64(n) {
		s.add(2 * (n - i)) // each in front of all
	}
	if len(s.chunks) < n/mostInChunk || len(s.chunks) > 4*n/mostInChunk {
		t.Errorf("got %d chunks for %d ranges, want about %d", len(s.chunks), n, 2*n/mostInChunk)
	}
}
