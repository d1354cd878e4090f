// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/tags"
)

// The pairs that are found in one pass are those that are found one by one.
func TestOverlapsAreThoseOfEachPair(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		sets := make([]tags.Set, 8)
		for i := range sets {
			for range random.IntN(4) {
				part := tags.Of(tags.Tag(random.IntN(100)))
				switch random.IntN(3) {
				case 0:
					lo := tags.Tag(random.IntN(100))
					part, _ = tags.Range(lo, lo+tags.Tag(random.IntN(10)))
				case 1:
					part = tags.Match(tags.Tag(random.IntN(100)), 0x3d)
				}
				sets[i] = sets[i].Union(part)
			}
		}
		var want []pair
		for a := range sets {
			for b := a + 1; b < len(sets); b++ {
				if sets[a].Intersects(sets[b]) {
					want = append(want, pair{a, b})
				}
			}
		}
		got, err := overlaps(sets)
		if err != nil || len(got)+len(want) > 0 && !cmp.Equal(got, want, cmp.AllowUnexported(pair{})) {
			t.Fatalf("got %v, %v, want %v of %v", got, err, want, sets)
		}
	}
}

// A thousand that all have one tag are not compared further once that is clear.
func TestPairsAreBounded(t *testing.T) {
	sets := make([]tags.Set, 1000)
	for i := range sets {
		sets[i] = tags.Of(7, tags.Tag(1000+i))
	}
	if got, err := overlaps(sets); err != nil || len(got) != maxPairs {
		t.Errorf("got %d pairs, %v, want %d", len(got), err, maxPairs)
	}
}
