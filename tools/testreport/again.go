// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// mostAgain is how many failed tests a second run may make good. More of them have a
// cause that is no accident.
const mostAgain = 3

// graveness matches what is no accident however seldom it comes.
var graveness = regexp.MustCompile(`DATA RACE|^panic: |^fatal error: |found unexpected goroutines|leak`)

// again returns the tests that are worth a second run, or why there is none.
func (r *report) again() (tests []testID, reason string) {
	for _, id := range r.failures {
		// A test of which a subtest has failed has failed because of that. The same test may
		// have failed in two builds.
		within := func(other testID) bool { return id.pkg == other.pkg && strings.HasPrefix(other.name, id.name+"/") }
		if !slices.ContainsFunc(r.failures, within) && !slices.Contains(tests, id) {
			tests = append(tests, id)
		}
	}
	switch {
	case r.grave != "":
		return nil, "it is no accident: " + r.grave
	case r.alone > 0:
		return nil, "a package has failed beside its tests"
	case len(tests) > mostAgain:
		return nil, fmt.Sprintf("%d tests have failed, more than %d", len(tests), mostAgain)
	}
	return tests, ""
}

// writeAgain writes a line for each test to be run again: package, tab, pattern for
// go test -run. It writes none if a second run can make nothing good.
func (r *report) writeAgain(to io.Writer) error {
	tests, reason := r.again()
	if reason != "" {
		fmt.Fprintln(r.out, "no second run:", reason)
		return nil
	}
	for _, id := range tests {
		if _, err := fmt.Fprintf(to, "%s\t%s\n", id.pkg, patternOf(id.name)); err != nil {
			return err
		}
	}
	return nil
}

// patternOf returns the pattern that selects one test.
func patternOf(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
