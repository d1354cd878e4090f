// SPDX-License-Identifier: Apache-2.0

package tagset_test

import (
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// What is handed over is what another one took last, tag by tag.
func TestHandOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 12
		var owners tagset.Owners
		last := make(map[tags.Tag]string)
		tag := rapid.Map(rapid.Uint64Range(0, most-1), func(n uint64) tags.Tag { return tags.Tag(n) })
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "owner")
			var taken []tags.Set
			for range rapid.IntRange(0, 2).Draw(t, "sets") {
				taken = append(taken, tags.Of(rapid.SliceOfN(tag, 1, 4).Draw(t, "set")...))
			}
			lost := tags.Union(owners.HandOver(name, taken)...)
			set := tags.Union(taken...)
			for tag := range tags.Tag(most) {
				want := set.Contains(tag) && last[tag] != "" && last[tag] != name
				if lost.Contains(tag) != want {
					t.Fatalf("%s takes %v: got tag %v lost %v, want %v: %q had it", name, set, tag, !want, want, last[tag])
				}
				if set.Contains(tag) {
					last[tag] = name
				}
			}
		}
	})
}

// Where it is too complex to find out what another one had, all is lost.
func TestHandOverOfComplexSets(t *testing.T) {
	combs := func(shift int) tags.Set { // each mask of one meets each of the other
		all := make([]tags.Set, 300)
		for i := range all {
			all[i] = tags.Match(0, tags.Tag(i+1)<<shift)
		}
		return tags.Union(all...)
	}
	var owners tagset.Owners
	owners.HandOver("a", []tags.Set{combs(0)})
	if lost := owners.HandOver("b", []tags.Set{combs(20)}); len(lost) != 1 || !lost[0].Equal(combs(20)) {
		t.Errorf("got %d sets lost, want all that is taken", len(lost))
	}
}
