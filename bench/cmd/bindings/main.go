// SPDX-License-Identifier: Apache-2.0

// Command bindings measures the library in C and the package in Python against Go, and against peers:
// processor time a message of the process that matters, or the median round trip, in rounds in which
// all take turns. It prints medians, and ratios with the goals of them.
//
//	cd bench && go run ./cmd/bindings [-rounds 5] [-seconds 0.5] [-only REGEXP]
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	rounds := flag.Int("rounds", 5, "of all")
	seconds := flag.Float64("seconds", 0.5, "of each measurement")
	only := flag.String("only", "", "tables, a regular expression")
	library := flag.String("lib", "../bin/lib", "the folder of libtagbus.so")
	out := flag.String("out", "out", "the folder of the programs, that of cmd/run, which has some of them")
	check := flag.Bool("check", false, "that the programs work which cmd/run does not have: each once, with messages of 40 bytes; measure nothing")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	must(err)
	if *check {
		*rounds, *seconds = 1, 0.05
	}
	all := slices.DeleteFunc(tables(), func(t table) bool { return !chosen.MatchString(t.name) || *check && t.size != 40 })
	if len(all) == 0 {
		return
	}
	built, err := build(*library, *out)
	must(err)
	for _, name := range slices.Sorted(keys(built.missing)) {
		fmt.Fprintf(os.Stdout, "left out: %s: %s\n", name, built.missing[name])
	}
	for _, t := range all {
		t.rows = slices.DeleteFunc(t.rows, func(r row) bool {
			return built.missing[r.pub.program] != "" || built.missing[r.sub.program] != "" || *check && !r.onlyHere()
		})
		report(t, measure(built, t, *rounds, *seconds), *check)
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func keys(m map[string]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// report prints a table.
func report(t table, found map[string]sample, check bool) {
	if check {
		names := make([]string, len(t.rows))
		for i, r := range t.rows {
			names[i] = r.name
		}
		fmt.Fprintf(os.Stdout, "%s: all received: %s\n", t.name, strings.Join(names, ", "))
		return
	}
	fmt.Fprintf(os.Stdout, "\n### %s\n\n| | %s | least | M/s |\n|---|---|---|---|\n", t.name, t.unit())
	for _, r := range t.rows {
		s := found[r.name]
		rate := "–"
		if t.of != roundTrip {
			rate = fmt.Sprintf("%.2f", median(s.rate)/1e6)
		}
		fmt.Fprintf(os.Stdout, "| %s | %s | %s | %s |\n", r.name, short(median(s.ns)), short(slices.Min(s.ns)), rate)
	}
	fmt.Fprintf(os.Stdout, "\n| ratio | of the medians | of the least | goal | |\n|---|---|---|---|---|\n")
	for _, g := range t.goals {
		a, b := found[g.of].ns, found[g.by].ns
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		ratio := median(a) / median(b)
		bound, met := "at most", ratio <= g.bound
		if g.least {
			bound, met = "at least", ratio >= g.bound
		}
		verdict := "met"
		if !met {
			verdict = "missed"
		}
		if g.bound == 0 {
			bound, verdict = "–", ""
		} else {
			bound += fmt.Sprintf(" %g", g.bound)
		}
		fmt.Fprintf(os.Stdout, "| %s / %s | %.2f | %.2f | %s | %s |\n", g.of, g.by, ratio, slices.Min(a)/slices.Min(b), bound, verdict)
	}
}

// short writes nanoseconds with three digits or more.
func short(ns float64) string {
	if ns >= 100 {
		return fmt.Sprintf("%.0f", ns)
	}
	return fmt.Sprintf("%.1f", ns)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// absolute returns a path from the root.
func absolute(path string) string {
	path, err := filepath.Abs(path)
	must(err)
	return path
}
