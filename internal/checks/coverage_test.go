// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestCoverageTableIsTrue holds docs/netio3-coverage.md to the code: what it
// names exists, and nothing is open.
func TestCoverageTableIsTrue(t *testing.T) {
	inRoot(t)
	text, err := os.ReadFile("docs/netio3-coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	documents := []string{"netio3 backend guide", "NetIO-next software architecture", "netio3 ConnectionManager"}
	rows, mistakes := checkCoverage(module(t), string(text), documents)
	for _, mistake := range mistakes {
		t.Errorf("docs/netio3-coverage.md:%s", mistake)
	}
	for _, document := range documents {
		if rows[document] < 10 {
			t.Errorf("%s: got %d rows, want its promises: has the table changed its form?", document, rows[document])
		}
	}
}

// TestDocumentsNameTestsThatExist holds the documents to the code: a test that
// was renamed would leave a promise without anything to show for it.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	inRoot(t)
	s := module(t)
	named := regexp.MustCompile("`(?:Test|Example|Fuzz|Benchmark)[A-Z_][^`]*`")
	found := 0
	for _, name := range []string{"README.md", "docs/guarantees.md", "docs/architecture.md", "docs/directory.md", "docs/protocol.md", "docs/reference.md", "docs/runbook.md", "docs/tour.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range named.FindAllString(string(text), -1) {
			found++
			if err := s.findTest(strings.Trim(test, "`")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if found < 50 {
		t.Errorf("got %d names of tests in the documents, want those of docs/guarantees.md at least", found)
	}
}

const coverageHeader = "| promise | Go API | tests | state | RDMA |"

// checkCoverage counts the rows below each heading of the second level, and
// returns what is wrong, each with its line. Each document has such a heading.
func checkCoverage(s *source, text string, documents []string) (rows map[string]int, mistakes []string) {
	rows = make(map[string]int)
	var document, section string
	inTable := false
	number := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		number++
		wrong := func(err error) { mistakes = append(mistakes, fmt.Sprintf("%d: %v", number, err)) }
		heading := strings.TrimLeft(line, "#")
		switch level := len(line) - len(heading); {
		case level == 2:
			document, section, inTable = strings.TrimSpace(heading), "", false
		case level == 3:
			section, inTable = strings.TrimSpace(heading), false
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case !inTable && line != coverageHeader:
			wrong(errors.New("a table begins with " + coverageHeader))
			inTable = true
		case !inTable:
			inTable = true
		case strings.Trim(line, "|-") == "":
		default:
			rows[document]++
			if !slices.Contains(documents, document) || section == "" {
				wrong(errors.New("the row stands below no section of a document"))
			}
			for _, err := range checkRow(s, line) {
				wrong(err)
			}
		}
	}
	for _, document := range documents {
		if rows[document] == 0 {
			mistakes = append(mistakes, "0: no row of "+document)
		}
	}
	return rows, mistakes
}

// code is a name in the text.
var code = regexp.MustCompile("`([^`]*)`")

// checkRow returns what is wrong in one row.
func checkRow(s *source, line string) (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if len(cells) != 5 {
		wrong("got %d cells, want 5", len(cells))
		return errs
	}
	for i, name := range []string{"promise", "Go API", "tests", "state", "RDMA"} {
		if cells[i] == "" {
			wrong("%s is empty", name)
		}
	}
	find := func(cell string, find func(string) error, what string) {
		references := code.FindAllStringSubmatch(cell, -1)
		if cell != "" && len(references) == 0 {
			wrong("got %q, want the name of %s in it", cell, what)
		}
		for _, reference := range references {
			if err := find(reference[1]); err != nil {
				wrong("%w", err)
			}
		}
	}
	find(cells[1], s.findAPI, "an API")
	find(cells[2], s.findTest, "a test")
	if rest := strings.Trim(code.ReplaceAllString(cells[2], ""), ", "); rest != "" {
		wrong("got %q among the tests, want names only", rest)
	}
	if cells[3] != "" {
		if err := checkState(cells[3]); err != nil {
			wrong("%w", err)
		}
	}
	if cells[4] != "" {
		errs = append(errs, checkRDMA(s, cells[4])...)
	}
	return errs
}

// checkRDMA returns what is wrong with what a row says of netio/rdma. The names
// in it are of tests if they look so, otherwise of APIs.
func checkRDMA(s *source, cell string) (errs []error) {
	what, reason, _ := strings.Cut(cell, ":")
	hasReason := strings.TrimSpace(reason) != ""
	switch what {
	case "same":
	case "-":
		if hasReason {
			errs = append(errs, fmt.Errorf("got a reason for %q, want none", what))
		}
	case "put otherwise", "not supported":
		if !hasReason {
			errs = append(errs, fmt.Errorf("got no reason for %q, want one behind a colon", what))
		}
	default:
		errs = append(errs, fmt.Errorf("got %q of RDMA, want same, put otherwise, not supported or -", what))
	}
	for _, reference := range code.FindAllStringSubmatch(cell, -1) {
		find, name := s.findAPI, reference[1]
		if _, function, _ := strings.Cut("."+name[strings.LastIndex(name, "/")+1:], ".Test"); function != "" || strings.HasPrefix(name, "suite: ") {
			find = s.findTest
		}
		if err := find(name); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// checkState allows what docs/netio3-coverage.md explains.
func checkState(cell string) error {
	state, reason, _ := strings.Cut(cell, ":")
	hasReason := strings.TrimSpace(reason) != ""
	switch state {
	case "kept":
		if hasReason {
			return fmt.Errorf("got a reason for %q, want none", state)
		}
	case "put otherwise", "RDMA only":
		if !hasReason {
			return fmt.Errorf("got no reason for %q, want one behind a colon", state)
		}
	default:
		return fmt.Errorf("got the state %q, want kept, put otherwise or RDMA only", state)
	}
	return nil
}

// made is a small module for the tests of the checker.
var made = fstest.MapFS{
	"go.mod":         {Data: []byte("module made")},
	"netio/netio.go": {Data: []byte("package netio\n\ntype Endpoint interface{ Send() }\n\ntype Config struct{ Mode int; hidden int }\n\nfunc (c *Config) Validate() {}\n\nconst Safe = 1\n")},
	"netio/netiotest/suite.go": {Data: []byte(`package netiotest

var openChecks = []check{
	{"port 0 gives a real port", checkPortZero},
}

func checkPortZero() { tests := []struct{ name string }{{"no check"}}; _ = tests }
`)},
	"netio/reactor/loop.go":      {Data: []byte("package reactor\n\nfunc New() {}\n")},
	"netio/reactor/loop_test.go": {Data: []byte("package reactor_test\n\nfunc TestStop() { run(\"before Run\") }\n\nfunc TestOutput() {}\n\nfunc ExampleNew() {}\n\nfunc Testing() {}\n\nfunc TestMain() {}\n")},
	"cmd/cmd_test.go":            {Data: []byte("package cmd_test\n\nfunc TestOutput() { run(\"of cmd\") }\n")},
	"tools/go.mod":               {Data: []byte("module tools")},
	"tools/tools_test.go":        {Data: []byte("package tools_test\n\nfunc TestElsewhere() {}\n")},
	"testdata/bad.go":            {Data: []byte("no Go")},
}
