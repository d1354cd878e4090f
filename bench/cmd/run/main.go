// SPDX-License-Identifier: Apache-2.0

// Command run measures the bus against other systems and against plain C: it
// builds the programs, runs them in turn on an otherwise idle machine, writes
// the raw data, and prints tables with the goals. See docs/benchmarks.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"tagbus/bench/internal/report"
	"tagbus/bench/internal/run"
	"tagbus/bench/internal/scenario"
)

func init() {
	// The system ends the programs with the thread that started them.
	runtime.LockOSThread()
}

type flags struct {
	profile, out, doc, from string
	command, profiles       string
	only, systems           *regexp.Regexp
	patience                time.Duration
	idle                    float64
	rounds                  int
	seconds                 float64
	strict                  bool
}

func main() {
	f, err := parse()
	if err == nil {
		err = f.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parse() (flags, error) {
	var f flags
	flag.StringVar(&f.profile, "profile", "quick", "tiny, quick or full")
	flag.StringVar(&f.out, "out", "out", "folder for the programs and the raw data")
	flag.StringVar(&f.doc, "doc", "", "folder to which the document and its plot are written; empty: nowhere")
	flag.StringVar(&f.from, "from", "", "files of raw data, with commas between, to read instead of measuring; of what several have, the last one counts")
	flag.StringVar(&f.command, "command", "", "what to call this run in the document; default: the command line")
	flag.StringVar(&f.profiles, "profiles", "", "folder for CPU and allocation profiles of the programs in Go; empty: none")
	only := flag.String("only", "", "regular expression: scenarios")
	systems := flag.String("systems", "", "regular expression: systems")
	flag.DurationVar(&f.patience, "patience", 20*time.Second, "longest wait for an idle machine before one measurement; in all: the profile's")
	flag.Float64Var(&f.idle, "idle", 0.05, "share of the machine that others may use")
	flag.IntVar(&f.rounds, "rounds", 0, "of each measurement; 0: the profile's")
	flag.Float64Var(&f.seconds, "seconds", 0, "of each measurement; 0: the profile's")
	flag.BoolVar(&f.strict, "strict", false, "fail if a measurement fails, or a system that is to lose nothing does")
	flag.Parse()
	var err error
	f.only, err = regexp.Compile(*only)
	if err != nil {
		return f, err
	}
	f.systems, err = regexp.Compile(*systems)
	return f, err
}

func (f flags) run() error {
	var data report.Data
	if f.from != "" {
		var err error
		if data, err = readAll(strings.Split(f.from, ",")); err != nil {
			return err
		}
	} else {
		var err error
		if data, err = f.measure(); err != nil {
			return err
		}
	}
	tables := report.Tables(data)
	if _, err := io.WriteString(os.Stdout, tables); err != nil {
		return err
	}
	if f.doc != "" {
		if err := report.WriteDocument(f.doc, data); err != nil {
			return err
		}
	}
	if f.strict {
		return data.Faults()
	}
	return nil
}

// readAll reads files of raw data, the later ones of later runs.
func readAll(names []string) (report.Data, error) {
	var all bytes.Buffer
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return report.Data{}, err
		}
		all.Write(text)
	}
	return report.Read(&all)
}

// measure runs all that was asked for and writes the raw data as it comes.
func (f flags) measure() (data report.Data, err error) {
	at := slices.IndexFunc(scenario.Profiles, func(p scenario.Profile) bool { return p.Name == f.profile })
	if at < 0 {
		return data, fmt.Errorf("run: no profile %q", f.profile)
	}
	profile := scenario.Profiles[at]
	if f.rounds > 0 {
		profile.Rounds = f.rounds
	}
	if f.seconds > 0 {
		profile.Seconds = f.seconds
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return data, err
	}
	built, err := run.Build(context.Background(), f.out)
	if err != nil {
		return data, err
	}
	file, err := os.Create(filepath.Join(f.out, "results.jsonl"))
	if err != nil {
		return data, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := json.NewEncoder(file)
	data.Machine = run.Describe(profile)
	data.Machine.Skipped = built.Skipped
	if f.command != "" {
		data.Machine.Command = f.command
	}
	if err := lines.Encode(data.Machine); err != nil {
		return data, err
	}
	for program, missing := range built.Skipped {
		fmt.Fprintf(os.Stderr, "SKIPPED: %s: %s\n", program, missing)
	}
	runner := &run.Runner{Built: built, Profile: profile, Patience: f.patience, Idle: f.idle, Profiles: f.profiles}
	for _, s := range scenario.All() {
		if !s.In(profile) || !f.only.MatchString(s.Name) {
			continue
		}
		for round := range profile.Rounds {
			if s.Once && round > 0 {
				break
			}
			records, err := f.round(runner, s, round)
			data.Records = append(data.Records, records...)
			if err != nil {
				return data, err
			}
			for _, record := range records {
				if err := lines.Encode(record); err != nil {
					return data, err
				}
			}
		}
	}
	return data, nil
}

// round measures each system of a scenario once.
func (f flags) round(runner *run.Runner, s scenario.Scenario, round int) ([]run.Record, error) {
	var records []run.Record
	for _, name := range s.RowsIn(runner.Profile) {
		system, err := scenario.Find(name)
		if err != nil {
			return records, err
		}
		if !f.systems.MatchString(system.Name) || runner.Built.Skipped[system.Program] != "" {
			continue
		}
		record := runner.Measure(s, system, round)
		fmt.Fprintln(os.Stderr, report.Line(s, record))
		records = append(records, record)
	}
	return records, nil
}
