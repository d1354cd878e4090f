// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit"
	"tagbus/test/faults/internal/rows"
	"tagbus/test/faults/internal/table"
)

// root is the folder of the module.
const root = "../../../.."

func TestAll_isATable(t *testing.T) {
	if wrong := table.Validate(rows.All()); wrong != "" {
		t.Error(wrong)
	}
}

// TestAll_namesTestsThatAreThere: a test that gets another name takes its row along.
func TestAll_namesTestsThatAreThere(t *testing.T) {
	testkit.DependsOnTree()
	for _, r := range rows.All() {
		for _, test := range r.Held {
			folder, name, _ := strings.Cut(test, " ")
			if !contains(t, filepath.Join(root, folder), regexp.MustCompile(`(?m)^func `+name+`\(`)) {
				t.Errorf("row %s: %s has no test %s", r.Number, folder, name)
			}
		}
	}
}

func contains(t *testing.T, folder string, pattern *regexp.Regexp) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s: no tests: %v", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if pattern.Match(text) {
			return true
		}
	}
	return false
}

// TestAll_isInTheDocument: docs/faults.md has each row with all that it says, and no other.
func TestAll_isInTheDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown, _, _ := bytes.Cut(text, []byte("## What was measured"))
	var want, got []string
	for _, r := range rows.All() {
		want = append(want, strings.Join([]string{"", r.Number, r.Name, r.Inject, r.Promise, ""}, "|"))
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`).FindAllSubmatch(shown, -1) {
		if string(m[1]) != "row" {
			got = append(got, "|"+string(bytes.Join(m[1:], []byte("|")))+"|")
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/faults.md has other rows: run make faults (-want +got):\n%s", d)
	}
}

// TestAll_hasTheExampleOfTheDocument: the row that head.md shows is one that runs.
func TestAll_hasTheExampleOfTheDocument(t *testing.T) {
	head, err := os.ReadFile("../../head.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(head), "```go\n")
	example, _, found := strings.Cut(rest, "```\n")
	source, err := os.ReadFile("processes.go")
	if err != nil {
		t.Fatal(err)
	}
	if !found || !strings.Contains(strings.ReplaceAll(string(source), "\n\t", "\n"), example) {
		t.Errorf("processes.go has no row as in head.md:\n%s", example)
	}
}
