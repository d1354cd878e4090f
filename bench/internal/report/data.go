// SPDX-License-Identifier: Apache-2.0

// Package report turns measurements into tables, a plot and the document.
package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"tagbus/bench/internal/load"
	"tagbus/bench/internal/run"
	"tagbus/bench/internal/scenario"
)

// Data is what a run of the runner has measured, and what runs after it have.
type Data struct {
	Machine run.Machine
	Records []run.Record
	Later   []Data // each of one run, of other scenarios
}

// Read reads raw data: a line for the machine, and one for each measurement, and so on for
// runs that came later. What a run has measured replaces what those before have of the same
// scenarios.
func Read(r io.Reader) (Data, error) {
	var runs []Data
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for number := 1; lines.Scan(); number++ {
		if err := add(&runs, lines.Bytes()); err != nil {
			return Data{}, fmt.Errorf("report: line %d: %w", number, err)
		}
	}
	return joined(runs), lines.Err()
}

// add adds a line of raw data: of a machine, which begins a run, or a measurement.
func add(runs *[]Data, line []byte) error {
	var kind struct{ Scenario string }
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	if kind.Scenario == "" {
		var d Data
		err := json.Unmarshal(line, &d.Machine)
		*runs = append(*runs, d)
		return err
	}
	if len(*runs) == 0 {
		return errors.New("a measurement before the machine: begin with the line of the machine")
	}
	var record run.Record
	err := json.Unmarshal(line, &record)
	d := &(*runs)[len(*runs)-1]
	d.Records = append(d.Records, record)
	return err
}

// joined makes one of several runs, in the order of time.
func joined(runs []Data) Data {
	if len(runs) == 0 {
		return Data{}
	}
	for i := range runs {
		later := runs[i+1:]
		runs[i].Records = slices.DeleteFunc(runs[i].Records, func(r run.Record) bool {
			return slices.ContainsFunc(later, func(d Data) bool { return d.has(r.Scenario) })
		})
	}
	all := runs[0]
	for _, d := range runs[1:] {
		if len(d.Records) > 0 {
			all.Later = append(all.Later, d)
		}
	}
	return all
}

// has reports whether a scenario was measured in the first run.
func (d Data) has(scenarioName string) bool {
	return slices.ContainsFunc(d.Records, func(r run.Record) bool { return r.Scenario == scenarioName })
}

// all returns the measurements of all runs.
func (d Data) all() []run.Record {
	records := slices.Clone(d.Records)
	for _, later := range d.Later {
		records = append(records, later.Records...)
	}
	return records
}

// of returns the measurements of a system in a scenario that went well.
func (d Data) of(scenarioName, system string) []run.Record {
	var found []run.Record
	for _, r := range d.all() {
		if r.Scenario == scenarioName && r.System == system && r.Error == "" {
			found = append(found, r)
		}
	}
	return found
}

// middle returns the median of a figure of records, and its extremes; zeros if
// there is none.
func middle(records []run.Record, figure func(run.Record) float64) (median, least, most float64) {
	if len(records) == 0 {
		return 0, 0, 0
	}
	values := make([]float64, len(records))
	for i, r := range records {
		values[i] = figure(r)
	}
	slices.Sort(values)
	half := len(values) / 2
	median = values[half]
	if len(values)%2 == 0 {
		median = (values[half-1] + values[half]) / 2
	}
	return median, values[0], values[len(values)-1]
}

// mayLose reports whether a system is known to lose messages.
func mayLose(system string) bool { return system == "nng" }

// Faults returns what must not have happened: measurements that failed, messages
// that arrived changed or in another order, or not at all.
func (d Data) Faults() error {
	var faults []error
	for _, r := range d.all() {
		where := fmt.Sprintf("report: %s in %s, round %d", r.System, r.Scenario, r.Round+1)
		switch {
		case r.Error != "":
			faults = append(faults, fmt.Errorf("%s: %s", where, r.Error))
		case r.Corrupt > 0 || r.Disordered > 0:
			faults = append(faults, fmt.Errorf("%s: %d messages corrupt, %d out of order", where, r.Corrupt, r.Disordered))
		case r.Lost > 0 && !mayLose(r.System):
			faults = append(faults, fmt.Errorf("%s: %d of %d messages lost", where, r.Lost, r.Sent))
		case !mayLose(r.System) && r.Received+r.Latency.Count == 0 && !idle(r.Scenario):
			faults = append(faults, fmt.Errorf("%s: nothing was received", where))
		}
	}
	return errors.Join(faults...)
}

func idle(name string) bool {
	s, found := scenario.Named(name)
	return found && (s.Work == load.WorkIdle || s.Work == load.WorkDirectory)
}
