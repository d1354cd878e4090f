// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"math/rand/v2"
	"testing"
)

// chunksMade returns how many chunks r has.
func chunksMade(r *ring) (n int) {
	for _, c := range r.chunks {
		if c != nil {
			n++
		}
	}
	return n
}

// An idle connection that sends a little again and again has one chunk.
func TestEndpoint_aRingHasAsManyChunksAsWereNeeded(t *testing.T) {
	const places = 128
	var r ring
	for _, x := range []struct{ burst, chunks int }{{1, 1}, {chunkEntries, 1}, {chunkEntries + 1, 2}, {1, 2}, {places, places / chunkEntries}} {
		i := uint64(0)
		for range 1000 {
			for n := range x.burst {
				r.next(i, places, n == 0)
				i++
			}
		}
		if got := chunksMade(&r); got != x.chunks {
			t.Errorf("after bursts of %d: got %d chunks, want %d", x.burst, got, x.chunks)
		}
	}
}

// Entries that are used at the same time lie in memory of their own, and stay there.
func TestEndpoint_aRingKeepsTheEntriesApart(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, places := range []int{1, 2, chunkEntries / 2, chunkEntries, 4 * chunkEntries} {
		var r ring
		var head, tail uint64
		for range 10_000 {
			if n := tail - head; n > 0 && (n == uint64(places) || random.IntN(2) == 0) {
				if got := r.at(head).bytes; got != int(head) {
					t.Fatalf("%d places: entry %d of %d to %d holds %d", places, head, head, tail, got)
				}
				head++
				continue
			}
			r.next(tail, places, head == tail).bytes = int(tail)
			tail++
		}
	}
}
