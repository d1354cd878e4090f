// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestCheckLicence(t *testing.T) {
	const line = "SPDX-License-Identifier: Apache-2.0\n"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	module := fstest.MapFS{
		"good.go":            file("// " + line + "\n// Package a is good.\npackage a\n"),
		"good.sh":            file("#!/bin/sh\n# " + line + "# It does nothing.\n"),
		"good.py":            file("# " + line + "print()\n"),
		"text.md":            file("Nothing.\n"),
		"testdata/seed.go":   file("package a\n"),
		"dist/copied.sh":     file("#!/bin/sh\n"),
		".git/hook":          file("#!/bin/sh\n"),
		"in/the/doc.go":      file("// " + line + "// Package a has it in its comment.\npackage a\n"),
		"without.c":          file("int x;\n"),
		"without.hpp":        file("int x;\n"),
		"good.cpp":           file("// " + line + "\nint x;\n"),
		"other/licence.h":    file("// SPDX-License-Identifier: MIT\n\nint x;\n"),
		".ci/run":            file("#!/bin/sh\n"),
		"test/without/ext":   file("#!/bin/sh\ntrue\n"),
		"build/tagged.go":    file("//go:build linux\n\n// " + line + "\npackage a\n"),
		"good/build_tags.go": file("// " + line + "\n//go:build linux\n\npackage a\n"),
	}
	got, seen, err := withoutLicence(module)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".ci/run", "build/tagged.go", "in/the/doc.go", "other/licence.h", "test/without/ext", "without.c", "without.hpp"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
	if want := 12; seen != want {
		t.Errorf("got %d files looked at, want %d", seen, want)
	}
}
