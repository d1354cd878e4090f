// SPDX-License-Identifier: Apache-2.0

package tagset_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

func set(t interface{ Fatal(...any) }, text string) tags.Set {
	s, err := tags.ParseSet(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		name, set, wanted string
		want              uint64
	}{
		{"the same tag", "7", "7", 0},
		{"above", "9", "7", 2},
		{"below", "4", "7", 3},
		{"between two", "50", "7,60", 10},
		{"within a range", "50", "7-60", 0},
		{"around a range", "7-60", "20-30", 0},
		{"beside a range", "61-70", "7-60", 1},
		{"the whole way", "0", "0xffffffffffffffff", math.MaxUint64},
		{"a pattern, within the range that it lies in", "0x10", "0x1&0xf", 0},
		{"a pattern, beside it", "0x0&0xfffffffffffffff0", "0x15", 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := tagset.Distance(set(t, test.set), tagset.Ends(set(t, test.wanted))); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestDistanceIsThatOfTheNearestTags(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (s tags.Set, all []tags.Tag) {
			for _, x := range rapid.SliceOfN(rapid.Uint64Range(0, 300), 1, 20).Draw(t, name) {
				all = append(all, tags.Tag(x))
			}
			return tags.Of(all...), all
		}
		a, as := draw("a")
		b, bs := draw("b")
		want := uint64(math.MaxUint64)
		for _, x := range as {
			for _, y := range bs {
				want = min(want, uint64(max(x, y)-min(x, y)))
			}
		}
		if got := tagset.Distance(a, tagset.Ends(b)); got != want {
			t.Errorf("%v and %v: got %d, want %d", a, b, got, want)
		}
	})
}

func TestOnlySomeRangesAreLookedAt(t *testing.T) {
	var all []tags.Tag
	for i := range 1000 {
		all = append(all, tags.Tag(2*i))
	}
	if got := len(tagset.Ends(tags.Of(all...))); got != 2*64 {
		t.Errorf("got %d ends, want those of 64 ranges", got)
	}
}
