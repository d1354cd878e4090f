// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestCheckProse(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []string // what it finds, with the line
	}{
		{"a bool is reported", "isOld reports whether t is old.", nil},
		{"a bool is told", "isOld tells whether t is old.", []string{`1: "tells whether"`}},
		{"two bools", "Both tell whether it runs, and say whether\nit ran.", []string{`1: "tell whether"`}},
		{"another one is told", "It tells the peer whether to wait.", nil},
		{"across lines", "isOld tells\nwhether t is old.", []string{`2: "tells whether"`}},
		{"the second sentence", "It waits.\nThen it says\nwhether it ran.", []string{`3: "says whether"`}},
		{"an exception", "It sends all pages except the last.", nil},
		{"an exception that is none", "It sends all pages, but for the last.", []string{`1: "but for"`}},
		{"a contrast", "It is not for tests but for users.", nil},
		{"a contrast in another sentence", "It is not for tests. All but for these.", []string{`1: "but for"`}},
		{"a pronoun as subject", "Nobody waits for it.", []string{`1: "Nobody"`}},
		{"a pronoun as object", "It belongs to somebody else.", []string{`1: "somebody"`}},
		{"a name with a pronoun in it", "TestNobodyWaits, whomever, nobodyWaits", nil},
		{"a name in code and a quotation", "`nobody` and \"somebody else\"", nil},
		{"no thing", "Who waits is woken.", []string{`1: "Who"`}},
		{"no thing behind a semicolon", "One looks first; who waits is woken.", []string{`1: "; who"`}},
		{"no thing behind the name of a test", "TestWait: who waits is woken.", []string{`1: "TestWait: who"`}},
		{"no thing behind a preposition", "It is for who waits.", []string{`1: "for who"`}},
		{"a person", "It is for users who wait, and for those who ask.", nil},
		{"a question", "Who waits?", nil},
		{"a question within a sentence", "The table says who waits.", nil},
		{"a moment without name", "It is asked for when it comes to that.", []string{`1: "comes to that"`}},
		{"a cause", "after has alarm called in d.", []string{`1: "after has alarm called"`}},
		{"a cause with a longer object", "look has the completion queue of r read.", []string{`1: "look has the completion queue of r read"`}},
		{"an order", "TestWait has two peers send at once.", []string{`1: "TestWait has two peers send"`}},
		{"an order in a passive", "watch has it reported if m is lost.", []string{`1: "watch has it reported"`}},
		{"a possession", "A peer has a few send buffers, an endpoint has work to do, and each has an end.", nil},
		{"a word of laws", "It ceases to serve the tag.", []string{`1: "ceases to"`}},
		{"an action without a name", "The peer takes the news.", []string{`1: "takes the news"`}},
		{"a past", "The loop has not called f, and f has run.", nil},
		{"a passive", "The loop has been told of it. It has just read one.", nil},
		{"a name that is given", "A page has a header called Head.", nil},
		{"a purpose", "An endpoint has more to read, and pages that were read.", nil},
		{"code", "An example:\n\n\tnobody()\n", nil},
		{"points of a list", "Two:\n  - one who waits\n  - Who waits", []string{`3: "Who"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, b := range prose(1, strings.Split(test.text, "\n"), "\t") {
				for _, mistake := range b.check() {
					found, _, _ := strings.Cut(mistake, ": write ")
					got = append(got, found)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("mistakes differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckProseReadsAllText looks at comments of all kinds and at documents, and
// at the list of folders that are left out.
func TestCheckProseReadsAllText(t *testing.T) {
	module := fstest.MapFS{
		"a/a.go":          {Data: []byte("// Package a waits.\npackage a // for nobody\n\n/*\nf waits\nfor nobody. */\nfunc f() {\n\t_ = \"nobody\" // somebody\n}\n")},
		"a/testdata/t.go": {Data: []byte("nobody")},
		"a/b/b.go":        {Data: []byte("package b // nobody\n")},
		"c/c.go":          {Data: []byte("package c\n")},
		"c/text.txt":      {Data: []byte("nobody")},
		"d.md":            {Data: []byte("# Nobody\n\n| a | b |\n|---|---|\n| who | Who is |\n\n```go\nnobody\n```\n\n    nobody\n\n1. one\n   who\n\nnobody\n")},
		"old.md":          {Data: []byte("nobody\n")},
		".git/x.md":       {Data: []byte("nobody\n")},
	}
	got, err := checkProse(module, []string{"a/b", "c"}, []string{"old.md"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i], _, _ = strings.Cut(got[i], ": write ")
	}
	want := []string{
		`a/a.go:2: "nobody"`, `a/a.go:6: "nobody"`, `a/a.go:8: "somebody"`,
		`d.md:1: "Nobody"`, `d.md:5: "Who"`, `d.md:16: "nobody"`,
		"c is clean: remove it from notClean in prose_test.go",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes differ (-want +got):\n%s", diff)
	}
}
