// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module with these files and goes there.
func module(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
}

func TestRun(t *testing.T) {
	large := map[string]string{"a/a.go": "package a\n\nimport \"net/http\"\n\nvar _ http.Client\n\nconst Large int = 1 << 40\n"}
	tests := []struct {
		name           string
		system, arch   string
		files          map[string]string
		allow          string
		status         int
		want, errWants string
	}{
		{"a number that fits", "linux", "riscv64", large, "", 0, "linux/riscv64", ""},
		{"a number that does not", "linux", "386", large, "", 1, "", "a.go:7:19: cannot use 1 << 40"},
		{"a test that does not", "linux", "arm", map[string]string{
			"a/a.go":      "package a\n",
			"a/a_test.go": "package a_test\n\nimport _ \"example/a\"\n\nvar large int = 1 << 40\n",
		}, "", 1, "", "a_test.go:5:17: cannot use 1 << 40"},
		{"a symbol of another system", "darwin", "arm64", map[string]string{
			"a/a_linux.go": "package a\n\nfunc A() {}\n",
			"b/b.go":       "package b\n\nimport \"example/a\"\n\nvar _ = a.A\n",
		}, "", 1, "", "could not import example/a"},
		{"what says that it needs another system, and what needs it", "windows", "amd64", map[string]string{
			"a/a.go": "package a\n\nvar _ = this_needs_Linux__a\n",
			"b/b.go": "package b\n\nimport \"example/a\"\n\nvar _ = a.A\n",
		}, "undefined: this_needs_Linux__", 0, "of which 2 say", ""},
		{"another error beside it", "windows", "amd64", map[string]string{
			"a/a.go": "package a\n\nvar _ = this_needs_Linux__a\n\nvar _ = other\n",
		}, "undefined: this_needs_Linux__", 1, "", "undefined: other"},
		{"no Go", "linux", "s390x", map[string]string{"a/a.go": "package a\n\nfunc {\n"}, "", 1, "", "a.go:3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			module(t, test.files)
			t.Setenv("GOOS", test.system)
			t.Setenv("GOARCH", test.arch)
			var out, errOut strings.Builder
			status := run([]string{"-allow", test.allow, "./..."}, &out, &errOut)
			if status != test.status || !strings.Contains(out.String(), test.want) || !strings.Contains(errOut.String(), test.errWants) {
				t.Errorf("got status %d, %q and %q; want %d, %q and %q", status, out.String(), errOut.String(), test.status, test.want, test.errWants)
			}
		})
	}
	var out, errOut strings.Builder
	if status := run(nil, &out, &errOut); status != 2 {
		t.Errorf("without packages: got status %d, want 2", status)
	}
}
