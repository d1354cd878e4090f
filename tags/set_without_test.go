// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"errors"
	"slices"
	"testing"

	"tagbus/tags"
)

func TestSet_Without_leavesOutTheTags(t *testing.T) {
	tests := []struct {
		name    string
		a, b    string
		want    string
		wantErr error
	}{
		{"nothing from something", "1-9", "", "1-9", nil},
		{"everything from something", "1-9,1&1", "*", "", nil},
		{"a tag from a range", "1-9", "5", "1-4,6-9", nil},
		{"the ends of a range", "1-9", "0-1,9-12", "2-8", nil},
		{"a range across ranges", "1-3,5-7,9", "2-6", "1,7,9", nil},
		{"the ends of everything", "*", "0,0xffffffffffffffff", "1-0xfffffffffffffffe", nil},
		{"the even tags from a range", "0-15", "0&1", "1&0xfffffffffffffff1", nil},
		{"odd tags from everything", "*", "1&1", "0&1", nil},
		{"a pattern from itself", "1/0/19/*/*/*/0/*/*", "1/0/19/*/*/*/0/*/*", "", nil},
		{"commands from a connector", "1/0/19/*/*/*/*/*/*", "*/*/*/*/*/*/1/*/*", "1/0/19/*/*/*/0/*/*", nil},
		{"a range beside a pattern", "1/0/19/*/*/*/0/*/*", "1-9", "1/0/19/*/*/*/0/*/*", nil},
		{"half of a pattern as a range", "1&0xffffffffffffff01", "0x80-0xff", "1&0xffffffffffffff81", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := mustParseSet(t, test.a).Without(mustParseSet(t, test.b))
			if err != nil || !got.Equal(mustParseSet(t, test.want)) {
				t.Errorf("got %q, %v want %q", got, err, test.want)
			}
		})
	}
}

func TestSet_Without_leavesItsOperands(t *testing.T) {
	a, b := mustParseSet(t, "1-9,20-29,1&1"), mustParseSet(t, "5,0&6")
	before := []string{a.String(), b.String()}
	if _, err := a.Without(b); err != nil {
		t.Fatal(err)
	}
	if after := []string{a.String(), b.String()}; !slices.Equal(before, after) {
		t.Errorf("got %q want %q", after, before)
	}
}

func TestSet_Without_refusesADifferenceOfTooManyPatterns(t *testing.T) {
	var ranges, patterns []tags.Set // the ranges are as wide as the gaps, with odd ends
	for i := range tags.Tag(5000) {
		ranges = append(ranges, mustRange(t, i<<20+1, i<<20+1<<19+1))
	}
	for i := range 5 {
		mask := tags.Tag(0xfff) << (12 * i)
		patterns = append(patterns, tags.Match(mask, mask))
	}
	tests := []struct {
		name string
		a, b tags.Set
	}{
		{"many ranges without the odd tags", tags.Union(ranges...), tags.Match(1, 1)},
		{"the odd tags without many ranges", tags.Match(1, 1), tags.Union(ranges...)},
		{"everything without patterns that all meet", tags.Everything(), tags.Union(patterns...)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if s, err := test.a.Without(test.b); !errors.Is(err, tags.ErrTooComplex) || !s.IsEmpty() {
				t.Errorf("got %d parts, %v want none and %v", s.Parts(), err, tags.ErrTooComplex)
			}
		})
	}
}
