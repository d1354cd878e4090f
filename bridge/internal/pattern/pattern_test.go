// SPDX-License-Identifier: Apache-2.0

package pattern_test

import (
	"slices"
	"strings"
	"testing"

	"tagbus/bridge/internal/pattern"
	"tagbus/tags"
)

func TestParse(t *testing.T) {
	got, err := pattern.Parse("a-{tag>>48}{instance}.{tag}")
	want := []pattern.Piece{
		{Kind: pattern.Text, Text: "a-"},
		{Kind: pattern.Tag, Shift: 48},
		{Kind: pattern.Instance},
		{Kind: pattern.Text, Text: "."},
		{Kind: pattern.Tag},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for text, part := range map[string]string{
		"a{": "no pair", "a}": "no pair", "{{tag}}": "{{tag}", "{}": "{}", "{Tag}": "{Tag}", "{tag>>}": "a multiple of 4", "{tag>>2}": "a multiple of 4", "{tag>>64}": "4 to 60",
		"{tag>>-4}": "4 to 60", "{tag>>0}": "4 to 60", "{tag>>9999999999999999999}": "4 to 60",
	} {
		if _, err := pattern.Parse(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: got %v, want an error with %q", text, err, part)
		}
	}
}

// TestFirsts has each span once, up to a limit.
func TestFirsts(t *testing.T) {
	middle, _ := tags.Range(0x1ffff, 0x30000)
	for _, test := range []struct {
		set   tags.Set
		shift int
		want  []tags.Tag
	}{
		{tags.Of(), 16, nil},
		{tags.Of(3, 4), 0, []tags.Tag{3, 4}},
		{middle, 16, []tags.Tag{0x10000, 0x20000, 0x30000}},
		{tags.Everything(), 60, nil}, // 16
		{tags.Match(tags.MaxTag, 1), 60, nil},
		{tags.Of(1, tags.MaxTag), 60, []tags.Tag{0, 0xf << 60}},
	} {
		if got := pattern.Firsts(test.set, test.shift, 4); !slices.Equal(got, test.want) {
			t.Errorf("%v, without %d bits: got %x, want %x", test.set, test.shift, got, test.want)
		}
	}
	if first, last := pattern.Span(0x12345, 8); first != 0x12300 || last != 0x123ff {
		t.Errorf("got %x to %x, want 12300 to 123ff", first, last)
	}
	if first, last := pattern.Span(7, 0); first != 7 || last != 7 {
		t.Errorf("got %x to %x, want 7 alone", first, last)
	}
}
