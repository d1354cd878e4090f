// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit"
	"tagbus/tags"
)

// mustRange returns the set lo..hi.
func mustRange(tb testing.TB, lo, hi tags.Tag) tags.Set {
	tb.Helper()
	s, err := tags.Range(lo, hi)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// mustParseSet returns the set that text names.
func mustParseSet(tb testing.TB, text string) tags.Set {
	tb.Helper()
	s, err := tags.ParseSet(text)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestSet_Equal_setsBuiltInManyWays(t *testing.T) {
	const top = tags.MaxTag
	tests := []struct {
		name string
		a, b tags.Set
		want bool
	}{
		{"nothing and the zero value", tags.Of(), tags.Set{}, true},
		{"tags in another order with duplicates", tags.Of(3, 1, 2, 1), tags.Of(1, 2, 3), true},
		{"tags and their range", tags.Of(1, 2, 3), mustRange(t, 1, 3), true},
		{"ranges that touch", mustRange(t, 1, 3).Union(mustRange(t, 4, 9)), mustRange(t, 1, 9), true},
		{"ranges that overlap", mustRange(t, 1, 6).Union(mustRange(t, 4, 9)), mustRange(t, 1, 9), true},
		{"a range inside another", mustRange(t, 1, 9).Union(mustRange(t, 4, 5)), mustRange(t, 1, 9), true},
		{"ranges with a gap", mustRange(t, 1, 3).Union(mustRange(t, 5, 9)), mustRange(t, 1, 9), false},
		{"tags at both ends", tags.Of(top, 0), tags.Of(0, top), true},
		{"the last two tags", tags.Of(top, top-1), mustRange(t, top-1, top), true},
		{"a pattern of one tag", tags.Match(5, top), tags.Of(5), true},
		{"a pattern open in its low bits", tags.Match(0x1234, ^tags.Tag(0xff)), mustRange(t, 0x1200, 0x12ff), true},
		{"a pattern open in all bits", tags.Match(5, 0), tags.Everything(), true},
		{"two halves", mustRange(t, 0, top/2).Union(mustRange(t, top/2+1, top)), tags.Everything(), true},
		{"patterns in another order", tags.Union(tags.Match(1, 1), tags.Match(2, 2)), tags.Union(tags.Match(2, 2), tags.Match(1, 1), tags.Match(3, 1)), true},
		{"a pattern inside a range", tags.Match(0x10, ^tags.Tag(0xe)).Union(mustRange(t, 0x10, 0x1f)), mustRange(t, 0x10, 0x1f), true},
		{"a pattern inside everything", tags.Match(1, 1).Union(tags.Everything()), tags.Everything(), true},
		{"patterns that differ", tags.Match(1, 1), tags.Match(0, 1), false},
		{"a pattern and nothing", tags.Match(1, 1), tags.Set{}, false},
		{"odd and even tags, which together are everything, stay patterns", tags.Match(1, 1).Union(tags.Match(0, 1)), tags.Everything(), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.a.Equal(test.b); got != test.want {
				t.Errorf("%q and %q: equal: got %v want %v", test.a, test.b, got, test.want)
			}
			if got := test.b.Equal(test.a); got != test.want {
				t.Errorf("%q and %q, swapped: equal: got %v want %v", test.a, test.b, got, test.want)
			}
		})
	}
}

func TestRange_refusesSwappedEnds(t *testing.T) {
	s, err := tags.Range(5, 4)
	if !errors.Is(err, tags.ErrRangeOrder) || !s.IsEmpty() {
		t.Errorf("got %q, %v want no tag and %v", s, err, tags.ErrRangeOrder)
	}
	const want = "tags: range ends before it begins: 0x0000000000000005-0x0000000000000004"
	if err != nil && err.Error() != want {
		t.Errorf("got %v want %s", err, want)
	}
}

func TestOf_keepsNoReferenceToItsArguments(t *testing.T) {
	list := []tags.Tag{3, 1, 2}
	s := tags.Of(list...)
	list[0] = 9
	if !slices.Equal(list, []tags.Tag{9, 1, 2}) || s.Contains(9) || !s.Contains(3) {
		t.Errorf("arguments are %v, the set is %q", list, s)
	}
}

func TestUnion_leavesItsOperands(t *testing.T) {
	a, b := tags.Of(1, 5).Union(tags.Match(1, 3)), mustRange(t, 2, 4).Union(tags.Match(2, 3))
	before := []string{a.String(), b.String()}
	tags.Union(a, b)
	a.Union(b)
	if after := []string{a.String(), b.String()}; !slices.Equal(before, after) {
		t.Errorf("got %q want %q", after, before)
	}
}

func TestSet_Contains_ofDetectorTags(t *testing.T) {
	s := mustParseSet(t, "1/0/19/*/*/*/0/*/*, 0x1000013000118000-0x100001300011800f")
	tests := []struct {
		name string
		tag  string
		want bool
	}{
		{"readout of the connector", "1/0/19/0/0/25/0/0/0", true},
		{"a virtual e-link of the connector", "1/0/19/1/100/25/0/7/3", true},
		{"commands to the connector", "1/0/19/0/0/25/1/0/0", false},
		{"commands in the range", "1/0/19/0/0/17/1/0/15", true},
		{"commands after the range", "1/0/19/0/0/17/1/0/16", false},
		{"another connector", "1/0/18/0/0/25/0/0/0", false},
		{"another detector", "1/1/19/0/0/25/0/0/0", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tag, err := tags.Parse(test.tag)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Contains(tag); got != test.want {
				t.Errorf("got %v want %v", got, test.want)
			}
		})
	}
}

func TestSet_Intersects_tellsWhetherATagIsInBoth(t *testing.T) {
	tests := []struct {
		name string
		a, b string
		want bool
	}{
		{"nothing with everything", "", "*", false},
		{"everything with everything", "*", "*", true},
		{"ranges that touch", "1-3", "4-9", false},
		{"ranges that share an end", "1-4", "4-9", true},
		{"many tags around a range", "1,3,5,7,9,20", "10-19", false},
		{"a huge range with a pattern that begins above it", "0-0x7fffffffffffffff", "0x8000000000000001&0x8000000000000001", false},
		{"a huge range with a pattern that has one tag in it", "0-0x8000000000000001", "0x8000000000000001&0x8000000000000001", true},
		{"a range between two tags of a pattern", "0x11-0x1f", "0x00&0x0f", false},
		{"a range that ends at a tag of a pattern", "0x11-0x20", "0x00&0x0f", true},
		{"the last tag", "18446744073709551615", "1&1", true},
		{"patterns that disagree in a common bit", "1&1", "2&3", false},
		{"patterns without a common bit", "1&1", "2&2", true},
		{"readout of a connector and commands to all", "1/0/19/*/*/*/0/*/*", "1/*/*/*/*/*/1/*/*", false},
		{"readout of a connector and of all", "1/0/19/*/*/*/0/*/*", "1/*/*/*/*/*/0/*/*", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := mustParseSet(t, test.a), mustParseSet(t, test.b)
			if got := a.Intersects(b); got != test.want {
				t.Errorf("%q and %q: got %v want %v", a, b, got, test.want)
			}
			if got := b.Intersects(a); got != test.want {
				t.Errorf("%q and %q, swapped: got %v want %v", a, b, got, test.want)
			}
		})
	}
}

func TestSet_rangesMasksAndParts(t *testing.T) {
	s := tags.Union(tags.Of(9, 1, 2), tags.Match(6, 7), tags.Match(4, 5), tags.Match(5, 5))
	var ranges, masks [][2]tags.Tag
	for lo, hi := range s.Ranges() {
		ranges = append(ranges, [2]tags.Tag{lo, hi})
	}
	for value, mask := range s.Masks() {
		masks = append(masks, [2]tags.Tag{value, mask})
	}
	if diff := cmp.Diff([][2]tags.Tag{{1, 2}, {9, 9}}, ranges); diff != "" {
		t.Errorf("ranges (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][2]tags.Tag{{4, 5}, {5, 5}, {6, 7}}, masks); diff != "" {
		t.Errorf("masks (-want +got):\n%s", diff)
	}
	if got, want := s.Parts(), 5; got != want {
		t.Errorf("parts: got %d want %d", got, want)
	}
	for range s.Ranges() {
		break
	}
	for range s.Masks() {
		break
	}
}

// scattered returns n tags that do not touch, ascending, and the set of them.
func scattered(n int) ([]tags.Tag, tags.Set) {
	rng := rand.New(rand.NewPCG(1, 2))
	list := make([]tags.Tag, n)
	at := tags.Tag(0x1000000000000000)
	for i := range list {
		at += 2 + tags.Tag(rng.Uint64N(1<<20))
		list[i] = at
	}
	return list, tags.Of(list...)
}

func TestSet_hotPathsDoNotAllocate(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	list, s := scattered(1000)
	s = s.Union(tags.Match(1, 1)).Union(tags.Match(6, 6))
	far := tags.Match(0x2000000000000002, 0xf000000000000003)
	apart := mustParseSet(t, "2/*/*/*/*/*/0/*/1")
	tests := []struct {
		name string
		run  func()
	}{
		{"Contains", func() { s.Contains(list[500]); s.Contains(4) }},
		{"Intersects", func() { s.Intersects(far); far.Intersects(apart) }},
		{"Equal", func() { s.Equal(far) }},
		{"Fields", func() { _, _ = list[0].Fields().Tag() }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, test.run); got != 0 {
				t.Errorf("got %v allocations want 0", got)
			}
		})
	}
}

func BenchmarkContains(b *testing.B) {
	list, exact := scattered(65536)
	pattern := mustParseSet(b, "1/0/19/*/*/*/0/*/*")
	tests := []struct {
		name string
		set  tags.Set
	}{
		{"set=65536-tags", exact},
		{"set=one-range", mustRange(b, list[0], list[len(list)-1])},
		{"set=one-pattern", pattern},
		{"set=65536-tags-and-pattern", exact.Union(pattern)},
	}
	for _, test := range tests {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			var i uint32
			found := 0
			for b.Loop() {
				i = i*1664525 + 1013904223 // every index, scattered
				if test.set.Contains(list[i>>16] + tags.Tag(i&1)) {
					found++
				}
			}
			_ = found
		})
	}
}

func BenchmarkIntersects(b *testing.B) {
	_, exact := scattered(65536)
	pattern := mustParseSet(b, "1/0/19/*/*/*/0/*/*")
	tests := []struct {
		name string
		a, b tags.Set
	}{
		{"tag-with-65536-tags", tags.Of(0x1000000000000001), exact},
		{"pattern-with-65536-tags", pattern, exact},
		{"pattern-with-huge-range", pattern, mustParseSet(b, "0x1000013000008000-0x100001300000ffff")},
		{"pattern-with-pattern", pattern, mustParseSet(b, "1/*/20/*/*/*/0/*/1")},
	}
	for _, test := range tests {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				test.a.Intersects(test.b)
			}
		})
	}
}

func BenchmarkOf65536Tags(b *testing.B) {
	list, _ := scattered(65536)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	b.ReportAllocs()
	for b.Loop() {
		tags.Of(list...)
	}
}
