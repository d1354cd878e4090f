// SPDX-License-Identifier: Apache-2.0

//go:build linux

package screen_test

import (
	"testing"

	"tagbus/cmd/internal/screen"
)

func TestFramesHaveWhatDiffers(t *testing.T) {
	const whole = "\x1b[0m\x1b[H\x1b[2J"
	var c screen.Canvas
	for _, step := range []struct {
		name   string
		forget bool
		lines  []string
		want   string
	}{
		{"the first", false, []string{"a", "b"}, whole + "\x1b[1;1H\x1b[2Ka\x1b[0m\x1b[2;1H\x1b[2Kb\x1b[0m"},
		{"the same", false, []string{"a", "b"}, ""},
		{"another line", false, []string{"a", "c"}, "\x1b[2;1H\x1b[2Kc\x1b[0m"},
		{"a line more", false, []string{"a", "c", "d"}, "\x1b[3;1H\x1b[2Kd\x1b[0m"},
		{"two lines less", false, []string{"a"}, "\x1b[2;1H\x1b[2K\x1b[0m\x1b[3;1H\x1b[2K\x1b[0m"},
		{"all of it", true, []string{"a"}, whole + "\x1b[1;1H\x1b[2Ka\x1b[0m"},
		{"an empty line", false, []string{"", "b"}, "\x1b[1;1H\x1b[2K\x1b[0m\x1b[2;1H\x1b[2Kb\x1b[0m"},
	} {
		if step.forget {
			c.Forget()
		}
		if got := string(c.Frame(step.lines)); got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
}

func TestWidths(t *testing.T) {
	for _, test := range []struct {
		text        string
		width       int
		left, right string // in 4 columns
	}{
		{"", 0, "    ", "    "},
		{"ab", 2, "ab  ", "  ab"},
		{"abcd", 4, "abcd", "abcd"},
		{"abcde", 5, "abc~", "abc~"},
		{"Zürich", 6, "Zür~", "Zür~"},
		{"世界", 4, "世界", "世界"},
		{"世界人", 6, "世~ ", " 世~"},
		{"e\u0301a", 2, "e\u0301a  ", "  e\u0301a"},
		{"\U0001F600\U0001F600x", 5, "\U0001F600~ ", " \U0001F600~"},
	} {
		if got := screen.Width(test.text); got != test.width {
			t.Errorf("%q: got %d columns, want %d", test.text, got, test.width)
		}
		if got := screen.AlignLeft(test.text, 4); got != test.left {
			t.Errorf("%q to the left: got %q, want %q", test.text, got, test.left)
		}
		if got := screen.AlignRight(test.text, 4); got != test.right {
			t.Errorf("%q to the right: got %q, want %q", test.text, got, test.right)
		}
	}
	if got := screen.Cut("abc", 0); got != "" {
		t.Errorf("got %q in no columns, want nothing", got)
	}
	if got := screen.WithoutLast("aé"); got != "a" {
		t.Errorf("got %q without the last character, want a", got)
	}
	if got := screen.WithoutLast(""); got != "" {
		t.Errorf("got %q of nothing, want nothing", got)
	}
}
