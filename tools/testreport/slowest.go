// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// mostSlow is how many of the slowest tests a report names.
const mostSlow = 10

// timing is how long a test took.
type timing struct {
	testID
	seconds float64
}

// slowest keeps the tests that took longest, the slowest first. A subtest counts as
// part of its test.
type slowest []timing

// add takes a test that is over.
func (s *slowest) add(t timing) {
	if t.name == "" || strings.Contains(t.name, "/") {
		return
	}
	at, _ := slices.BinarySearchFunc(*s, t, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
	if at < mostSlow {
		*s = slices.Insert(*s, at, t)
		*s = (*s)[:min(len(*s), mostSlow)]
	}
}

// print writes a line for each.
func (s slowest) print(w io.Writer) {
	for _, t := range s {
		fmt.Fprintf(w, "slow: %6.1f s  %s %s\n", t.seconds, t.pkg, t.name)
	}
}
