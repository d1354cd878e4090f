// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// section is what README.md says of one example.
type section struct {
	name     string
	commands []string
	prints   string // by the commands; empty: README.md does not say
}

// sections returns the sections of README.md that have an indented block.
func sections(t *testing.T) (all []section) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "\n## ") {
		name, body, _ := strings.Cut(part, "\n")
		commands, output, _ := strings.Cut(body, "\nIt prints\n")
		s := section{name: name, commands: indented(commands), prints: strings.Join(indented(output), "\n")}
		if len(s.commands) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// indented returns the lines of the blocks in a text, without their indent.
func indented(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if code, found := strings.CutPrefix(line, "    "); found {
			lines = append(lines, strings.TrimSuffix(code, "\n"))
		}
	}
	return lines
}

// TestREADMENamesEveryExample: each has a section with the command that runs it.
func TestREADMENamesEveryExample(t *testing.T) {
	programs, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, program := range programs {
		want = append(want, filepath.Dir(program))
	}
	for _, s := range sections(t) {
		got = append(got, s.name)
		if len(s.commands) != 1 || !strings.HasPrefix(s.commands[0]+" ", "go run ./examples/"+s.name+" ") {
			t.Errorf("%s: got the commands %q, want one go run ./examples/%s", s.name, s.commands, s.name)
			continue
		}
		source, err := os.ReadFile(filepath.Join(s.name, "main.go"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, option := range regexp.MustCompile(` -(\w+)`).FindAllStringSubmatch(s.commands[0], -1) {
			if !strings.Contains(string(source), `("`+option[1]+`",`) {
				t.Errorf("%s has no option -%s", s.name, option[1])
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("README.md has sections of %q, want %q", got, want)
	}
}

// TestExamplesPrintWhatREADMESays runs the commands of README.md as they are there.
func TestExamplesPrintWhatREADMESays(t *testing.T) {
	testkit.DependsOnTree()
	ran := 0
	for _, s := range sections(t) {
		if s.prints == "" {
			continue // TestSenderAndReceiver runs these
		}
		ran++
		t.Run(s.name, func(t *testing.T) {
			words := strings.Fields(s.commands[0])
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			cmd.Dir = ".."
			out, err := cmd.CombinedOutput()
			if err != nil || testkit.Said(out) != s.prints+"\n" {
				t.Errorf("%s: got %v and\n%s\nwant\n%s", s.commands[0], err, out, s.prints)
			}
		})
	}
	if ran < 4 {
		t.Errorf("got %d examples whose output README.md shows, want 4 at least", ran)
	}
}
