// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// started matches a program with its command, if it has commands, where a script starts it.
var started = regexp.MustCompile(`(?m)^(?:! ?)?(?:\? ?)?(?:exec|start \S+) (publisher|subscriber|tagbus [a-z]+)`)

// TestEachProgramIsSelected holds the selection that runs under the race detector in CI to
// what it promises: every program that any script starts is started by one of its scripts.
func TestEachProgramIsSelected(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "each-program.list"))
	testkit.Must(t, err)
	pattern := regexp.MustCompile(`(?m)^TestScripts/(\S+)$`).FindSubmatch(text)
	if pattern == nil {
		t.Fatalf("got no line TestScripts/… in %s", text)
	}
	selected := regexp.MustCompile(string(pattern[1]))
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	testkit.Must(t, err)
	all, some := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		script, err := os.ReadFile(file)
		testkit.Must(t, err)
		for _, found := range started.FindAllSubmatch(script, -1) {
			program := string(found[1])
			all[program] = true
			if selected.MatchString(strings.TrimSuffix(filepath.Base(file), ".txtar")) {
				some[program] = true
			}
		}
	}
	if len(all) < 15 {
		t.Errorf("the scripts start %q, want more: is the pattern right?", slices.Sorted(maps.Keys(all)))
	}
	for program := range all {
		if !some[program] {
			t.Errorf("no script of %s starts %q", pattern[1], program)
		}
	}
}
