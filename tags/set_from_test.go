package tags_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/tags"
)

func TestFromYieldsWhatAllDoesFromATagOn(t *testing.T) {
	for _, text := range []string{"", "*", "9,1-3", "1&1,0&3,3&7", "0-3,1&1,100-200", "0xfffffffffffffffe-0xffffffffffffffff,5"} {
		set := mustParseSet(t, text)
		rapid.Check(t, func(t *rapid.T) {
			first := tags.Tag(rapid.Uint64Range(0, 220).Draw(t, "first"))
			var got []tags.Tag
			for tag := range set.From(first) {
				if got = append(got, tag); len(got) == 10 {
					break
				}
			}
			want := slices.DeleteFunc(firstTags(set, 250), func(tag tags.Tag) bool { return tag < first })
			if want = want[:min(len(want), 10)]; !slices.Equal(got, want) {
				t.Errorf("set %q from %v: got %v, want %v", text, first, got, want)
			}
		})
	}
}

func TestFromTheLastTag(t *testing.T) {
	if got := slices.Collect(tags.Everything().From(tags.MaxTag)); !slices.Equal(got, []tags.Tag{tags.MaxTag}) {
		t.Errorf("got %v, want the last tag", got)
	}
}
