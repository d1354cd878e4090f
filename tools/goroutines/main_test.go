// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module example\n\ngo 1.26\n",
		"a/a.go":          "package a\n\nfunc A() {}\n",
		"a/a_test.go":     "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { A() }\n",
		"b/b.go":          "package b\n\nfunc B() { go func() {}() }\n",
		"c/c.go":          "package c\n\nimport \"example/b\"\n\nfunc C() { b.B() }\n",
		"d/d.go":          "package d\n",
		"d/d_test.go":     "package d_test\n\nimport _ \"example/c\"\n",
		"e/e.go":          "package e\n",
		"e/e_test.go":     "package e\n\nimport \"testing\"\n\nfunc TestE(t *testing.T) { t.Parallel() }\n",
		"f/f.go":          "package f\n",
		"f/f_test.go":     "package f\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) { defer func() { _ = t.Name }() }\n",
		"g/g.go":          "package g\n\nimport \"time\"\n\nvar T = time.AfterFunc(1, nil)\n",
		"h/h.go":          "package h\n",
		"h/h_test.go":     "package h\n\nimport _ \"os/exec\"\n",
		"h/other.go":      "//go:build other\n\npackage h\n",
		"j/j.go":          "package j\n\nfunc J() { go func() {}() }\n",
		"j/j_test.go":     "package j\n\nimport \"example/testkit\"\n\nvar n = testkit.Fewer(4)\n",
		"k/k.go":          "package k\n\nimport (\n\t\"example/invariants\"\n\t\"example/b\"\n)\n\nvar K = invariants.Enabled\n",
		"l/l.go":          "package l\n\nimport \"example/b\"\n",
		"l/l_test.go":     "package l\n\nimport \"example/invariants\"\n\nvar on = invariants.Enabled\n",
		"m/m.go":          "package m\n",
		"m/m_test.go":     "package m\n\nimport \"example/suite\"\n",
		"suite/suite.go":  "package suite\n\nimport (\n\t\"example/testkit\"\n\t_ \"example/b\"\n)\n\nvar N = testkit.Race\n",
		"testkit/t.go":    "package testkit\n\nconst Race = false\n\nfunc Fewer(n int) int { return n }\n",
		"invariants/i.go": "package invariants\n\nconst Enabled = false\n",
		"i/i.go":          "package i\n",
		"i/with_test.go":  "//go:build with\n\npackage i\n\nfunc init() { go func() {}() }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "")
	for _, test := range []struct{ args, want string }{
		{"./...", "b c d e g h j k l m suite"},
		{"-tags with ./...", "b c d e g h i j k l m suite"},
		{"-alike ./...", "b c d e g h k"},
		{"./a ./d", "d"},
	} {
		var out strings.Builder
		if err := run(strings.Fields(test.args), &out); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(out.String(), "example/", ""); strings.Join(strings.Fields(got), " ") != test.want {
			t.Errorf("%s: got %q, want %q", test.args, got, test.want)
		}
	}
	if err := run([]string{"./none"}, &strings.Builder{}); err == nil {
		t.Error("got no error for a package that is not there")
	}
}
