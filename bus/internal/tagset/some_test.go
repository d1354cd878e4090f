// SPDX-License-Identifier: Apache-2.0

package tagset_test

import (
	"slices"
	"testing"

	"tagbus/bus/internal/tagset"
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
	if both, steps := tagset.Named(tags.Of(1, 2, 9), tags.Of(2, 9, 11)); !both.Equal(tags.Of(2, 9)) || steps == 0 {
		t.Errorf("got %v for %d steps, want what both have", both, steps)
	}
	if both, steps := tagset.Named(sparse(200), sparse(100)); !both.Equal(sparse(200)) || steps != 0 {
		t.Errorf("of sets that are too large: got %d parts for %d steps, want the first one for none", both.Parts(), steps)
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
