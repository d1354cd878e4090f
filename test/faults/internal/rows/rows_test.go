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

// TestAll_isInTheDocument: docs/faults.md has each row, and no other.
func TestAll_isInTheDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown, _, _ := bytes.Cut(text, []byte("## What was measured"))
	var want, got []string
	for _, r := range rows.All() {
		want = append(want, r.Number+" "+r.Name)
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| [^|]+ \| [^|]+ \|$`).FindAllSubmatch(shown, -1) {
		if string(m[1]) != "row" {
			got = append(got, string(m[1])+" "+string(m[2]))
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("docs/faults.md has the rows\n%s\nwant\n%s\nrun make faults", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
