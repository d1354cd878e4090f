// SPDX-License-Identifier: Apache-2.0

package tagset_test

import (
	"slices"
	"testing"

	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// sparse returns n tags of which no two are neighbours.
func sparse(n int) (set tags.Set) {
	var list []tags.Tag
	for i := range n {
		list = append(list, tags.Tag(2*i))
	}
	return tags.Of(list...)
}

func TestNamed(t *testing.T) {
	whole, err := tags.Range(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	most := sparse(subscription.MaxParts)
	for _, test := range []struct {
		name             string
		set, other, want tags.Set
	}{
		{"a few tags", tags.Of(1, 2, 9), tags.Of(2, 9, 11), tags.Of(2, 9)},
		{"many tags, of which the other has half", sparse(2000), sparse(1000), sparse(1000)},
		{"as many ranges as may be on both sides", most, most, most},
		{"a pattern and many ranges", tags.Match(0, tags.MaxTag&^2), sparse(2000), tags.Of(0, 2)},
		{"a few patterns of many", masked(8, 1), tags.Union(whole, masked(200, 2)), masked(8, 1)},
		{"none in common", sparse(1000), tags.Of(1<<40, 1<<40+2), tags.Set{}},
	} {
		both, steps := tagset.Named(test.set, test.other)
		if !both.Equal(test.want) || steps < 1 || steps > 20<<10 {
			t.Errorf("%s: got %d parts for %d steps, want the %d that both have, for little more than a slice", test.name, both.Parts(), steps, test.want.Parts())
		}
	}
	tooComplex := masked(200, 2)
	if both, steps := tagset.Named(tooComplex, masked(100, 2)); !both.Equal(tooComplex) || steps < 1 || steps > 1024 {
		t.Errorf("of patterns that are too many: got %d parts for %d steps, want the first set for few", both.Parts(), steps)
	}
}

func TestSome(t *testing.T) {
	for _, test := range []struct {
		name        string
		all         []tags.Set
		some, parts int
	}{
		{"none", nil, 0, 0},
		{"sets with tags in common", []tags.Set{tags.Of(1, 3), tags.Of(3, 5)}, 3, 3},
		{"large sets", []tags.Set{sparse(300), tags.Of(1 << 40), tags.Of(1 << 41)}, 300, 302},
	} {
		some, parts := tagset.Some(slices.Values(test.all))
		if some.Parts() != test.some || parts != test.parts {
			t.Errorf("%s: got %d of %d parts, want %d of %d", test.name, some.Parts(), parts, test.some, test.parts)
		}
	}
}
