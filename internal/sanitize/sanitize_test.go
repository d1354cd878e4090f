// SPDX-License-Identifier: Apache-2.0

package sanitize_test

import (
	"errors"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"tagbus/internal/sanitize"
)

func TestTextIsQuotedOnlyWhereItMustBe(t *testing.T) {
	tests := []struct{ text, want string }{
		{"felix-07", "felix-07"},
		{"", ""},
		{"Zürich 7", "Zürich 7"},
		{"\x1b[2J", `"\x1b[2J"`},
		{"a\nb", `"a\nb"`},
		{"a\u202eb", `"a\u202eb"`},
		{"\xff", `"\xff"`},
		{`"quoted"`, `"\"quoted\""`},
	}
	for _, test := range tests {
		if got := sanitize.Text(test.text); got != test.want {
			t.Errorf("%q: got %s, want %s", test.text, got, test.want)
		}
	}
}

func TestALineIsEscapedWhereItMustBe(t *testing.T) {
	tests := []struct{ text, want string }{
		{`bus: "tcp" at C:\`, `bus: "tcp" at C:\`},
		{"", ""},
		{"a\x1b[2Jb", `a\x1b[2Jb`},
		{errors.Join(errors.New("one"), errors.New("two")).Error(), "one; two"},
		{"a\u202eb\u0085c", `a\u202eb\u0085c`},
		{"\xffa\ufffd", `\xffa` + "\ufffd"},
		{"\t\r\u00a0", `\t\r\u00a0`},
	}
	for _, test := range tests {
		got := sanitize.Line(test.text)
		if got != test.want {
			t.Errorf("%q: got %s, want %s", test.text, got, test.want)
		}
		if again := sanitize.Line(got); again != got {
			t.Errorf("%q: got %s the second time, want %s", test.text, again, got)
		}
	}
	if got := sanitize.Error(nil); got != "<nil>" {
		t.Errorf("no error: got %s, want <nil>", got)
	}
}

func TestACutTextIsMarkedAndHasNoHalfCharacter(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 5, "short"},
		{"longer", 5, "lo..."},
		{"aéb", 4, "aéb"},
		{"aébcde", 5, "a..."},
		{"aébcde", 6, "aé..."},
		{"\U0001F600\U0001F600", 7, "\U0001F600..."},
		{"\U0001F600\U0001F600", 6, "..."},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 9, "\x80\x80..."},
	}
	for _, test := range tests {
		if got := sanitize.Cut(test.text, test.limit); got != test.want || len(got) > test.limit {
			t.Errorf("%q to %d bytes: got %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

func FuzzTextsAndLinesAreSafe(f *testing.F) {
	f.Add("a\x1b[2J\n\u202e\xff\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{sanitize.Text(s), sanitize.Line(s), sanitize.Cut(sanitize.Line(s), 40)} {
			if !utf8.ValidString(got) {
				t.Errorf("got %q, want UTF-8", got)
			}
			for _, r := range got {
				if !unicode.IsPrint(r) {
					t.Errorf("got %q, want no %U in it", got, r)
				}
			}
		}
	})
}

func TestSome(t *testing.T) {
	for _, test := range []struct {
		seconds int
		want    string
	}{{0, ""}, {1, "0s"}, {3, "0s, 1s, 2s"}, {8, "0s, 1s, 2s, 3s, 4s, 5s, 6s, 7s"}, {10, "0s, 1s, 2s, 3s, 4s, 5s, 6s, 7s and 2 more"}} {
		var all []time.Duration
		for i := range test.seconds {
			all = append(all, time.Duration(i)*time.Second)
		}
		if got := sanitize.Some(all); got != test.want {
			t.Errorf("%d: got %q, want %q", test.seconds, got, test.want)
		}
	}
}
