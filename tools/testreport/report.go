// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// event is the part of one line of `go test -json` that a report needs; see
// `go doc test2json` for the format.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // in seconds, with the end of a test
}

// testID names one test or subtest.
type testID struct{ pkg, name string }

// skip is one skipped test and what it said.
type skip struct {
	testID
	reason string
}

// report collects events and prints the lines of a plain `go test` as they come.
type report struct {
	out    io.Writer
	output map[testID][]string // of what still runs; a package keeps its shuffle seed here

	passed, failed int
	skips          []skip
	said           []string // by the tests that failed; finish repeats it
	failedPackages int
	slow           slowest

	failures []testID // the tests of failed that have ended
	grave    string   // of said: what a second run cannot make good
	blamed   testID   // the last of failures, until its package ends
	alone    int      // packages that have failed without a test that has, or with one that never ended
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[testID][]string{}}
}

// read consumes the events until the input ends. A line that is not JSON, such
// as a message of the go command itself, is printed as it is.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				r.add(e)
			} else {
				fmt.Fprint(r.out, line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading test events: %w", err)
		}
	}
}

// add takes one event.
func (r *report) add(e event) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		switch {
		case e.Test != "", strings.HasPrefix(e.Output, "-test.shuffle "):
			r.output[id] = append(r.output[id], e.Output)
		case !noise.MatchString(e.Output):
			fmt.Fprint(r.out, e.Output)
		}
	case "pass", "fail", "skip":
		r.slow.add(timing{id, e.Elapsed})
		r.end(id, e.Action)
	}
}

// noise matches lines of a package that plain `go test` does not print.
var noise = regexp.MustCompile(`^(PASS\n|testing: warning: no tests to run)`)

// end counts a test, or a package when the test has no name, that is over.
func (r *report) end(id testID, action string) {
	output := r.output[id]
	delete(r.output, id)
	switch {
	case id.name == "" && action == "fail":
		r.failedPackages++
		r.print(output)
		if r.flush(id.pkg) || r.blamed.pkg != id.pkg {
			r.alone++
		}
		r.blamed = testID{}
	case id.name == "":
	case action == "pass":
		r.passed++
	case action == "fail":
		r.failed++
		r.failures, r.blamed = append(r.failures, id), id
		r.print(output)
	case action == "skip":
		r.skips = append(r.skips, skip{id, reasonOf(output)})
	}
}

// flush prints what the tests of a package said that never ended, as after a
// panic or a timeout: the cause is in there. It reports whether there were any.
func (r *report) flush(pkg string) (left bool) {
	for id, output := range r.output {
		if id.pkg == pkg && id.name != "" {
			left = true
			r.failed++
			r.print(output)
			delete(r.output, id)
		}
	}
	return left
}

// print writes what a failed test said, without the runner's marks of the tests that run.
func (r *report) print(output []string) {
	for _, line := range output {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(r.out, line)
			r.said = append(r.said, line)
			if r.grave == "" && graveness.MatchString(line) {
				r.grave = strings.TrimSpace(line)
			}
		}
	}
}

// repeat writes once more what the failed tests said: after the skipped tests it is in the
// last lines of a log, which may be all of it that is kept.
func (r *report) repeat() {
	const most = 50
	for _, line := range r.said[:min(len(r.said), most)] {
		fmt.Fprint(r.out, "failed: ", line)
	}
	if more := len(r.said) - most; more > 0 {
		fmt.Fprintf(r.out, "failed: and %d lines above\n", more)
	}
}

// reasonOf joins what a skipped test printed, without the lines of the runner.
func reasonOf(output []string) string {
	var said []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- SKIP") {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}

// listSkips prints a line for each reason and package, and returns how many tests were
// skipped for a reason that is not allowed. Those come last: of a log the last lines may be
// all that is kept.
func (r *report) listSkips(allow reasons) (refused int) {
	type group struct{ pkg, reason string }
	tests := map[group][]string{}
	var order []group
	for _, s := range r.skips {
		g := group{s.pkg, s.reason}
		if tests[g] == nil {
			order = append(order, g)
		}
		tests[g] = append(tests[g], s.name)
	}
	for _, allowed := range []bool{true, false} {
		note := ""
		if !allowed {
			note = "  [not in the list of allowed skips]"
		}
		for _, g := range order {
			if allow.matches(g.reason) != allowed {
				continue
			}
			n := len(tests[g])
			if !allowed {
				refused += n
			}
			count := ""
			if n > 1 {
				count = fmt.Sprintf(" (%d tests)", n)
			}
			fmt.Fprintf(r.out, "skipped: %s %s: %s%s%s\n", g.pkg, tests[g][0], g.reason, count, note)
		}
	}
	return refused
}

// finish prints the totals and returns the exit status.
func (r *report) finish(allow reasons, strict bool) int {
	r.slow.print(r.out)
	fmt.Fprintf(r.out, "\ntests: %d passed, %d failed, %d skipped (subtests included)\n",
		r.passed, r.failed, len(r.skips))
	refused := r.listSkips(allow)
	r.repeat()
	switch {
	case r.failed > 0 || r.failedPackages > 0:
		return 1
	case r.passed == 0:
		fmt.Fprintln(r.out, "FAIL: no test passed; did any run?")
		return 1
	case strict && refused > 0:
		fmt.Fprintf(r.out, "FAIL: %d skipped for a reason that is not allowed here; install what is missing, or list the reason\n", refused)
		return 1
	}
	return 0
}
