// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
)

// Limits of the cut.
const (
	maxBusFiles     = 58
	maxBusLines     = 9300
	maxBusBack      = 69 // arrows up
	maxFields       = 22 // of largeType
	maxMethods      = 50
	maxFileLines    = 300
	maxFuncLines    = 60
	minBusInternal  = 30 // percent of its lines
	maxTellsWhether = 0
)

// largeType is the type that became too large once.
const largeType = "source"

// rule is a limit and what the code has instead.
type rule struct {
	text string
	is   string
	kept bool
}

// rules judges a module.
//
//   - s: of bus; nil: it was not measured.
func rules(all []*unit, s *shape) []rule {
	bus := sum(all, func(u *unit) bool { return u.name == "bus" })
	internal := sum(all, func(u *unit) bool { return strings.HasPrefix(u.name, "bus/internal/") })
	module := sum(all, func(*unit) bool { return true })
	file, ofFile := largest(all, func(u *unit) []int { return u.files })
	function, ofFunction := largest(all, func(u *unit) []int { return u.functions })
	judged := []rule{
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
	if s == nil {
		return judged
	}
	judged = append(judged, rule{
		fmt.Sprintf("between the files of bus at most %d arrows lead up", maxBusBack), fmt.Sprintf("%d of %d", s.back, s.arrows), s.back <= maxBusBack,
	})
	for _, t := range s.types {
		if t.name == largeType {
			judged = append(judged, rule{
				fmt.Sprintf("bus.%s has at most %d fields and %d methods", t.name, maxFields, maxMethods),
				fmt.Sprintf("%d and %d", t.fields, t.methods), t.fields <= maxFields && t.methods <= maxMethods,
			})
		}
	}
	return judged
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
func writeRules(out io.Writer, all []*unit, s *shape) (kept bool) {
	kept = true
	fmt.Fprint(out, "\n| rule | is | kept |\n|---|---|---|\n")
	for _, r := range rules(all, s) {
		word := "yes"
		if !r.kept {
			word, kept = "**no**", false
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", r.text, r.is, word)
	}
	return kept
}
