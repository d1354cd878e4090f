// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/flat"
	"tagbus/test/faults/internal/record"
)

// measures are those of one run of a program: what each of them is, is in kinds.
type measures [4]flat.Series

// kinds are what is measured, with what it may grow by over all of a run, however long that is: a share of the first
// level, and at least a number. In a run of few minutes the faults themselves are a trend: then the bound is for what is
// out of hand, at the server of the directory, too.
var kinds = [len(measures{})]struct {
	name, unit        string
	share             float64
	least, leastOfFew float64
}{
	{"memory", "MiB", 0.2, 8, 32},
	{"descriptors", "", 0.1, 4, 200},
	{"goroutines", "", 0.1, 4, 1500},
	{"threads", "", 0, 4, 8},
}

// few is the time up to which a run has few minutes.
const few = 15 * time.Minute

// bound returns by how much a measure may grow.
func bound(kind int, t flat.Trend) float64 {
	least := kinds[kind].least
	if t.Over < few {
		least = kinds[kind].leastOfFew
	}
	return max(least, kinds[kind].share*t.First)
}

// measure measures all stations. s.mu is held.
func (s *site) measure() {
	for _, st := range s.stations {
		if st.process == nil || st.gone() {
			continue
		}
		values, err := look(st.process.PID())
		if err != nil {
			continue // it ends
		}
		values[2] = s.goroutines(st)
		st.ticks = max(st.ticks, cpu(st.process.PID()))
		for i, value := range values {
			if value > 0 {
				st.measures[i].Add(time.Since(s.began), value)
			}
		}
	}
}

// look returns the measures of a process that the system knows. Memory is without files, which are the program itself
// and its record.
//
// Errors: the system's.
func look(pid int) (values [len(kinds)]float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return values, err
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	values[1] = float64(len(files))
	for line := range bytes.Lines(status) {
		words := strings.Fields(string(line))
		if len(words) < 2 {
			continue
		}
		n, _ := strconv.ParseFloat(words[1], 64) // those that are looked at are numbers
		switch words[0] {
		case "RssAnon:", "RssShmem:":
			values[0] += n / 1024
		case "Threads:":
			values[3] = n
		}
	}
	return values, err
}

// cpu returns the processor time of a process in ticks of 10 ms, or 0.
func cpu(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, found := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if err != nil || !found || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseUint(fields[11], 10, 64) // both are numbers
	system, _ := strconv.ParseUint(fields[12], 10, 64)
	return user + system
}

// goroutines returns how many a station has, or 0 if that is not known.
func (s *site) goroutines(st *station) float64 {
	if st.kind == "directory" {
		return float64(s.directoryGoroutines.Load())
	}
	if st.kind != "publisher" && st.kind != "subscriber" {
		return 0
	}
	if st.vitals == nil {
		vitals, err := record.Open[check.Vitals](fmt.Sprintf("%s/%s.record.vitals", s.Dir, st.process.Name))
		if err != nil {
			return 0 // it begins
		}
		st.vitals = vitals
	}
	return float64(st.vitals[0].Goroutines)
}

// levels are the trends of all runs that were long enough.
type levels struct {
	warm, least time.Duration
	rows        map[string]*[len(kinds)]level // by kind of program
	problem     func(format string, args ...any)
}

// level is what is known of a measure of the programs of a kind.
type level struct {
	runs  int
	worst flat.Trend // the one that has grown most, relative to its bound
	of    string     // program
	share float64    // of the bound
	max   float64
}

// add adds a run that has ended.
func (l *levels) add(st *station) {
	rows := l.rows[st.kind]
	if rows == nil {
		rows = new([len(kinds)]level)
		l.rows[st.kind] = rows
	}
	for i := range rows {
		trend, enough := st.measures[i].Trend(l.warm, l.least)
		if !enough {
			continue
		}
		row := &rows[i]
		row.runs++
		row.max = max(row.max, trend.Max)
		bound := bound(i, trend)
		if share := trend.Growth() / bound; row.runs == 1 || share > row.share {
			row.worst, row.of, row.share = trend, st.process.Name, share
		}
		if trend.Growth() > bound {
			l.problem("%s: %s grow from %.1f to %.1f %s in %v, by %.1f an hour: more than %.1f in all",
				st.process.Name, kinds[i].name, trend.First, trend.Last, kinds[i].unit, short(trend.Over), trend.PerHour, bound)
		}
	}
}

// text returns the table of the levels.
func (l *levels) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %-12s %5s %9s   %s\n", "program", "measure", "runs", "largest", "the one that grew most")
	var names []string
	for name := range l.rows {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for i, row := range l.rows[name] {
			if row.runs == 0 {
				fmt.Fprintf(&b, "%-12s %-12s     0\n", name, kinds[i].name)
				continue
			}
			w := row.worst
			fmt.Fprintf(&b, "%-12s %-12s %5d %9.1f   %s: %.1f to %.1f %s in %s, %+.2f an hour, %+.1f of %.1f\n", name, kinds[i].name, row.runs, row.max,
				row.of, w.First, w.Last, kinds[i].unit, short(w.Over), w.PerHour, w.Growth(), bound(i, w))
		}
	}
	return b.String()
}
