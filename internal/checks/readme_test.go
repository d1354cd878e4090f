// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// TestQuickStartIsTheExample keeps the program of the README compiled and run: its
// main is the body of node's Example.
func TestQuickStartIsTheExample(t *testing.T) {
	inRoot(t)
	readme := between(t, "README.md", "\nfunc main() {\n", "}\n```\n")
	example := between(t, "node/example_test.go", "func Example() {\n", "\t// Output:")
	if readme != example {
		t.Errorf("the quick start of README.md is not node's Example:\ngot\n%s\nwant\n%s", readme, example)
	}
}

// TestQuickStartPrintsWhatItSays holds the README to the output of the example.
func TestQuickStartPrintsWhatItSays(t *testing.T) {
	inRoot(t)
	said := between(t, "README.md", "It prints `", "`.")
	printed := between(t, "node/example_test.go", "\t// Output: ", "\n")
	if said != printed {
		t.Errorf("output of the quick start: README.md says %q, want %q", said, printed)
	}
}

// TestQuickStartCompiles: a program with the imports of the README is whole.
func TestQuickStartCompiles(t *testing.T) {
	inRoot(t)
	testkit.DependsOnTree()
	program := between(t, "README.md", "```go\npackage main\n", "```\n")
	name := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(name, []byte("package main\n"+program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", name).CombinedOutput(); err != nil {
		t.Errorf("go vet of the quick start: %v\n%s", err, out)
	}
}

// A linker takes from a library what those before it lack: behind the library a program is left
// without it.
func TestLibrariesStandBehindTheProgram(t *testing.T) {
	inRoot(t)
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	compiles := regexp.MustCompile("\\b(cc|gcc|c\\+\\+|g\\+\\+)( [^`\n]*)? \\$\\(pkg-config [^`\n]*--libs tagbus\\)[^`\n]*")
	source := regexp.MustCompile(`\.(c|cpp|o) `)
	commands := 0
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range compiles.FindAllString(string(text), -1) {
			commands++
			before, behind, _ := strings.Cut(command, "$(pkg-config")
			if !source.MatchString(before) || source.MatchString(behind+" ") {
				t.Errorf("%s: %s: want the program before the library", page, command)
			}
		}
	}
	if commands < 3 {
		t.Errorf("got %d commands that compile, want those of README.md and docs/c.md", commands)
	}
}

// between returns what stands in a file between two marks.
func between(t *testing.T, path, begin, end string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), begin)
	part, _, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has nothing between %q and %q", path, begin, end)
	}
	return part
}
