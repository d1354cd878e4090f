// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"tagbus/tags"
)

func TestOfRanges_isTheUnionOfItsRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.SampledFrom([]uint64{30, 1 << 63, 1<<64 - 1}).Draw(t, "bound")
		type pair struct{ lo, hi tags.Tag }
		var pairs []pair
		var sets []tags.Set
		for range rapid.IntRange(0, 10).Draw(t, "ranges") {
			a, b := tags.Tag(rapid.Uint64Range(0, bound).Draw(t, "a")), tags.Tag(rapid.Uint64Range(0, bound).Draw(t, "b"))
			s, err := tags.Range(min(a, b), max(a, b))
			if err != nil {
				t.Fatal(err)
			}
			pairs, sets = append(pairs, pair{min(a, b), max(a, b)}), append(sets, s)
		}
		got, err := tags.OfRanges(0, func(yield func(lo, hi tags.Tag) bool) {
			for _, p := range pairs {
				if !yield(p.lo, p.hi) {
					return
				}
			}
		})
		want := tags.Union(sets...)
		if err != nil || !got.Equal(want) {
			t.Errorf("%v: got %v, %v, want %v", pairs, got, err, want)
		}
		if again, err := tags.OfRanges(want.Parts(), want.Ranges()); err != nil || !again.Equal(want) {
			t.Errorf("got %v, %v, want %v", again, err, want)
		}
	})
}

func TestOfRanges_refusesARangeThatEndsBeforeItBegins(t *testing.T) {
	got, err := tags.OfRanges(0, func(yield func(lo, hi tags.Tag) bool) { _ = yield(1, 2) && yield(9, 8) && yield(3, 4) })
	if !errors.Is(err, tags.ErrRangeOrder) || !got.IsEmpty() {
		t.Errorf("got %v, %v, want ErrRangeOrder", got, err)
	}
}
