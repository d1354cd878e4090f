// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"slices"
	"strings"
	"testing"

	"tagbus/cmd/libtagbus/objects"
)

func TestWordsAreThoseOfAShell(t *testing.T) {
	for text, want := range map[string][]string{
		"":                              nil,
		" \t\n":                         nil,
		"a":                             {"a"},
		" a  b\tc\nd ":                  {"a", "b", "c", "d"},
		`--name 'a b' x`:                {"--name", "a b", "x"},
		`--name="a b"`:                  {"--name=a b"},
		`a\ b`:                          {"a b"},
		`''`:                            {""},
		`"" ''`:                         {"", ""},
		`"a\"b\\c\d"`:                   {`a"b\c\d`},
		`'a\b'`:                         {`a\b`},
		`a'b'"c"d`:                      {"abcd"},
		`$HOME *`:                       {"$HOME", "*"},
		"--queue-bytes 64MiB --on-loop": {"--queue-bytes", "64MiB", "--on-loop"},
	} {
		got, err := objects.Words(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{`a \`: "backslash", `'a`: "closing '", `"a`: `closing "`, `"a\"`: `closing "`} {
		if got, err := objects.Words(text); err == nil || !strings.Contains(err.Error(), want) || objects.CodeOf(err) != objects.Invalid {
			t.Errorf("%q: got %q, %v, want an error with %s", text, got, err, want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add(`--name 'a "b"' c\ d "e\"f"`)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := objects.Words(text)
		if err != nil {
			return
		}
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		again, err := objects.Words(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(words, again) {
			t.Errorf("%q: %q, quoted %q, %v", text, words, again, err)
		}
	})
}
