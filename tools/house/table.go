// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// writeTable writes a row for each package, one for bus with its internal packages,
// one for the commands and one for all.
func writeTable(out io.Writer, all []*unit) {
	fmt.Fprintln(out, "Files and their lines are those without tests. Documented are exported names,")
	fmt.Fprintln(out, "tests / code are lines, external the share of tests that see only what is exported.")
	fmt.Fprintln(out)
	fmt.Fprintln(out, "| code | files | lines | median | p90 | max | func p90/p99/max | documented | tests / code | external | tells whether |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|---|")
	for _, u := range all {
		writeRow(out, u, u.name)
	}
	writeRow(out, sum(all, within("bus", "bus/internal/")), "**bus and bus/internal**")
	writeRow(out, sum(all, within("cmd", "cmd/")), "**cmd**")
	writeRow(out, sum(all, func(*unit) bool { return true }), "**all**")
}

// largeTypes is how many types of bus are shown.
const largeTypes = 5

// writeShape writes a row for each of the largest types of bus.
func writeShape(out io.Writer, s *shape) {
	if s == nil {
		return
	}
	fmt.Fprint(out, "\n| type of bus | fields | methods |\n|---|---|---|\n")
	for _, t := range s.types[:min(largeTypes, len(s.types))] {
		fmt.Fprintf(out, "| %s | %d | %d |\n", t.name, t.fields, t.methods)
	}
}

// within returns a function that reports whether a unit is the package of a name, or in a folder.
func within(name, folder string) func(*unit) bool {
	return func(u *unit) bool { return u.name == name || strings.HasPrefix(u.name, folder) }
}

func sum(all []*unit, of func(*unit) bool) *unit {
	s := new(unit)
	for _, u := range all {
		if of(u) {
			s.add(u)
		}
	}
	return s
}

func writeRow(out io.Writer, u *unit, name string) {
	fmt.Fprintf(out, "| %s | %d | %s | %d | %d | %d | %d/%d/%d | %s | %s | %s | %d |\n",
		name, len(u.files), thousands(u.lines()),
		rank(u.files, 50), rank(u.files, 90), rank(u.files, 100),
		rank(u.functions, 90), rank(u.functions, 99), rank(u.functions, 100),
		percent(u.documented, u.exported), ratio(u.tests, u.lines()), percent(u.external, u.tests), u.tells)
}

// rank returns the smallest of numbers that p percent of them do not exceed; 0 of
// none.
func rank(numbers []int, p int) int {
	if len(numbers) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[(len(sorted)*p+99)/100-1]
}

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%d %%", 100*part/whole)
}

func ratio(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(part)/float64(whole))
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
