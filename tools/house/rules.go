// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
)

// Limits of the cut.
const (
	maxBusFiles     = 55
	maxBusLines     = 8500
	maxFileLines    = 300
	maxFuncLines    = 60
	minBusInternal  = 30 // percent of its lines
	maxTellsWhether = 0
)

// rule is a limit and what the code has instead.
type rule struct {
	text string
	is   string
	kept bool
}

// rules judges a module.
func rules(all []*unit) []rule {
	bus := sum(all, func(u *unit) bool { return u.name == "bus" })
	internal := sum(all, func(u *unit) bool { return strings.HasPrefix(u.name, "bus/internal/") })
	module := sum(all, func(*unit) bool { return true })
	file, ofFile := largest(all, func(u *unit) []int { return u.files })
	function, ofFunction := largest(all, func(u *unit) []int { return u.functions })
	return []rule{
		{fmt.Sprintf("bus has at most %d files", maxBusFiles), fmt.Sprint(len(bus.files)), len(bus.files) <= maxBusFiles},
		{fmt.Sprintf("bus has at most %s lines", thousands(maxBusLines)), thousands(bus.lines()), bus.lines() <= maxBusLines},
		{fmt.Sprintf("no file has more than %d lines", maxFileLines), fmt.Sprintf("%d in %s", file, ofFile), file <= maxFileLines},
		{fmt.Sprintf("no function has more than %d lines", maxFuncLines), fmt.Sprintf("%d in %s", function, ofFunction), function <= maxFuncLines},
		{
			fmt.Sprintf("at least %d %% of bus are in bus/internal", minBusInternal),
			percent(internal.lines(), bus.lines()+internal.lines()),
			100*internal.lines() >= minBusInternal*(bus.lines()+internal.lines()),
		},
		{fmt.Sprintf(`"tells whether" is said at most %d times`, maxTellsWhether), fmt.Sprint(module.tells), module.tells <= maxTellsWhether},
	}
}

// largest returns the largest of some numbers of all units, and the name of its unit.
func largest(all []*unit, numbers func(*unit) []int) (most int, of string) {
	for _, u := range all {
		if n := rank(numbers(u), 100); n > most {
			most, of = n, u.name
		}
	}
	return most, of
}

// writeRules writes what rules says and reports whether all are kept.
func writeRules(out io.Writer, all []*unit) (kept bool) {
	kept = true
	fmt.Fprint(out, "\n| rule | is | kept |\n|---|---|---|\n")
	for _, r := range rules(all) {
		word := "yes"
		if !r.kept {
			word, kept = "**no**", false
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", r.text, r.is, word)
	}
	return kept
}
