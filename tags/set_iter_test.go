// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"math"
	"slices"
	"testing"

	"tagbus/tags"
)

// firstTags returns the first n tags of s, or all if there are fewer.
func firstTags(s tags.Set, n int) []tags.Tag {
	var out []tags.Tag
	for t := range s.All() {
		if out = append(out, t); len(out) == n {
			break
		}
	}
	return out
}

func TestSet_All_yieldsEachTagOnceInOrder(t *testing.T) {
	const top = tags.MaxTag
	tests := []struct {
		name string
		set  string
		want []tags.Tag // the first six
	}{
		{"nothing", "", nil},
		{"everything", "*", []tags.Tag{0, 1, 2, 3, 4, 5}},
		{"tags and ranges", "9,1-3", []tags.Tag{1, 2, 3, 9}},
		{"the last tags", "0xfffffffffffffffe-0xffffffffffffffff", []tags.Tag{top - 1, top}},
		{"a pattern", "1&1", []tags.Tag{1, 3, 5, 7, 9, 11}},
		{"a pattern that ends at the last tag", "0xfffffffffffffffd&0xfffffffffffffffd", []tags.Tag{top - 2, top}},
		{"a pattern within and after a range", "0-3,1&1", []tags.Tag{0, 1, 2, 3, 5, 7}},
		{"patterns that overlap", "1&1,0&3,3&7", []tags.Tag{0, 1, 3, 4, 5, 7}},
		{"streams 0 and 1 of a connector's readout", "1/0/19/0/0/*/0/0/0,1/0/19/0/0/*/0/0/1", []tags.Tag{
			0x1000013000000000, 0x1000013000000001, 0x1000013000010000, 0x1000013000010001, 0x1000013000020000, 0x1000013000020001,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := firstTags(mustParseSet(t, test.set), 6); !slices.Equal(got, test.want) {
				t.Errorf("got %v want %v", got, test.want)
			}
		})
	}
}

func TestSet_AllFrom_goesOnWhereAnIterationWasLeft(t *testing.T) {
	for _, text := range []string{
		"", "9,1-3", "0xfffffffffffffffe-0xffffffffffffffff", "0-3,1&1", "1&1,0&3,3&7", "5,7-9,2&3",
		"0xfffffffffffffffd&0xfffffffffffffffd", "1/0/19/0/0/*/0/0/0,1/0/19/0/0/*/0/0/1",
	} {
		set := mustParseSet(t, text)
		all := firstTags(set, 40)
		for i, tag := range all {
			for _, first := range []tags.Tag{tag, max(tag, 1) - 1} {
				var got []tags.Tag
				for other := range set.AllFrom(first) {
					if got = append(got, other); len(got) == len(all)-i {
						break
					}
				}
				want := all[i:]
				if i > 0 && all[i-1] == first && first != tag {
					want = all[i-1 : len(all)-1]
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s from %v: got %v want %v", text, first, got, want)
				}
			}
		}
	}
}

func TestSet_Count_countsTheTags(t *testing.T) {
	tests := []struct {
		name  string
		set   string
		want  uint64
		exact bool
	}{
		{"nothing", "", 0, true},
		{"tags and ranges", "9,1-3", 4, true},
		{"everything", "*", math.MaxUint64, false},
		{"everything but one tag", "1-0xffffffffffffffff", math.MaxUint64, true},
		{"a pattern", "1/0/19/0/0/*/0/0/0", 64, true},
		{"half of all tags", "1&1", 1 << 63, true},
		{"patterns apart", "1/0/19/0/0/*/0/0/0,1/0/19/0/0/*/0/0/1", 128, true},
		{"odd and even tags", "0&1,1&1", math.MaxUint64, false},
		{"a pattern and a range that overlap", "0-3,1&0xffffffffffffff01", 4 + 126, true},
		{"a pattern and the last tags", "0xfffffffffffffffe-0xffffffffffffffff,0xffffffffffffff01&0xffffffffffffff01", 2 + 127, true},
		{"patterns that overlap", "1/0/19/0/0/*/0/0/0,1/0/19/0/*/17/0/0/0", 64 + 8192, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n, exact := mustParseSet(t, test.set).Count()
			if n != test.want || exact != test.exact {
				t.Errorf("got %d, %v want %d, %v", n, exact, test.want, test.exact)
			}
		})
	}
	t.Run("more patterns than are compared", func(t *testing.T) {
		var sets []tags.Set
		for i := range tags.Tag(1025) {
			sets = append(sets, tags.Match(i<<1, 0xffff_ffff_0000_ffff))
		}
		if n, exact := tags.Union(sets...).Count(); n != 1025<<16 || exact {
			t.Errorf("got %d, %v want %d, false", n, exact, 1025<<16)
		}
		if n, exact := tags.Union(sets[1:]...).Count(); n != 1024<<16 || !exact {
			t.Errorf("got %d, %v want %d, true", n, exact, 1024<<16)
		}
	})
}

// BenchmarkAll takes 65,536 tags from each set.
func BenchmarkAll(b *testing.B) {
	_, exact := scattered(65536)
	var patterns []tags.Set // each of 8,192 links times 64 e-links
	for stream := range tags.Tag(16) {
		patterns = append(patterns, tags.Match(1<<60|stream, ^tags.Tag(0x7ffff<<16)))
	}
	tests := []struct {
		name string
		set  tags.Set
	}{
		{"set=65536-tags", exact},
		{"set=one-range", mustRange(b, 0, 65535)},
		{"set=16-patterns", tags.Union(patterns...)},
	}
	for _, test := range tests {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for range test.set.All() {
					if n++; n == 65536 {
						break
					}
				}
			}
		})
	}
}
