// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"tagbus/bench/internal/load"
	"tagbus/bench/internal/run"
	"tagbus/bench/internal/scenario"
)

// Tables returns all tables, in Markdown: one for the goals and one for each
// scenario that was measured.
func Tables(d Data) string {
	var b strings.Builder
	b.WriteString(goals(d))
	group := ""
	for _, s := range scenario.All() {
		rows := table(d, s)
		if rows == "" {
			continue
		}
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
			if s.Profiled {
				fmt.Fprintf(&b, "\n%s", profiles(d)) // one for all of them
			}
		}
		if s.Profiled {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s", s.Name, rows)
	}
	return b.String()
}

// result is a row of a scenario, computed.
type result struct {
	scenario.Scenario
	system              string
	records             []run.Record
	median, least, most float64
	ratio               float64 // of the subject's median to this one; 0: unknown
}

// results returns the rows of a scenario that were measured.
func results(d Data, s scenario.Scenario) []result {
	subject, _, _ := middle(d.of(s.Name, s.Compared()), figure(s, s.Metric))
	var rows []result
	for _, system := range s.Rows {
		r := result{Scenario: s, system: system, records: d.of(s.Name, system)}
		if len(r.records) == 0 {
			continue
		}
		r.median, r.least, r.most = middle(r.records, figure(s, s.Metric))
		if r.median > 0 {
			r.ratio = subject / r.median
		}
		rows = append(rows, r)
	}
	return rows
}

// table is the table of a scenario.
func table(d Data, s scenario.Scenario) string {
	rows := results(d, s)
	if len(rows) == 0 {
		return ""
	}
	if s.Work == load.WorkDirectory {
		return directoryTable(rows) + failures(d, s)
	}
	var b strings.Builder
	latency := s.Metric == scenario.P50
	header := fmt.Sprintf("| system | %s | least – most |", metricName(s.Metric))
	if latency {
		header += " p99 µs | p99.9 µs |"
	}
	if s.Records {
		header += fmt.Sprintf(" %s | bytes of the file per message |", metricName(scenario.SubscriberCPU))
	}
	header += fmt.Sprintf(" %s / this | %s | lost | others |", s.Compared(), metricName(scenario.CPU))
	fmt.Fprintf(&b, "%s\n%s\n", header, strings.Repeat("|---", strings.Count(header, "|")-1)+"|")
	for _, r := range rows {
		cells := []string{r.system, amount(s.Metric, r.median), amount(s.Metric, r.least) + " – " + amount(s.Metric, r.most)}
		if latency {
			p999 := r.figure("%.1f", func(r run.Record) float64 { return float64(r.Latency.P999) / 1e3 })
			if r.records[0].Latency.P999 == 0 {
				p999 = "–" // of a program that does not say it
			}
			cells = append(cells, r.figure("%.1f", func(r run.Record) float64 { return float64(r.Latency.P99) / 1e3 }), p999)
		}
		if s.Records {
			cells = append(cells, r.figure("%.0f", figure(s, scenario.SubscriberCPU)), r.fileBytes())
		}
		cells = append(cells, ratioText(r.ratio), r.cpu(), r.lost(),
			r.figure("%.0f %%", func(r run.Record) float64 { return 100 * r.Foreign }))
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String() + extras(rows) + failures(d, s)
}

func ratioText(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", ratio)
}

func (r result) figure(format string, of func(run.Record) float64) string {
	median, _, _ := middle(r.records, of)
	return fmt.Sprintf(format, median)
}

// cpu is the processor time. Of what is idle it stands below the table.
func (r result) cpu() string {
	if r.Work == load.WorkIdle || r.Work == load.WorkPolicy {
		return "–"
	}
	median, _, _ := middle(r.records, figure(r.Scenario, scenario.CPU))
	return amount(scenario.CPU, median)
}

// fileBytes is what a message takes in the file of a recorder.
func (r result) fileBytes() string {
	if r.records[0].Extra[load.FileBytes] == 0 {
		return "–"
	}
	return r.figure("%.1f", func(r run.Record) float64 { return r.Extra[load.FileBytes] })
}

func (r result) lost() string {
	var lost, all float64
	for _, record := range r.records {
		lost += float64(record.Lost)
		all += float64(record.Lost + record.Received)
	}
	if lost == 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f %%", 100*lost/all)
}

// extras are figures of some systems, below the table.
func extras(rows []result) string {
	var b strings.Builder
	for _, r := range rows {
		for _, name := range sortedKeys(r.records[0].Extra) {
			if name == load.FileBytes {
				continue // has a column
			}
			fmt.Fprintf(&b, "- %s: %s %s\n", r.system, strings.ReplaceAll(name, "_", " "),
				r.figure("%.4g", func(r run.Record) float64 { return r.Extra[name] }))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// failures names the measurements of a scenario that failed.
func failures(d Data, s scenario.Scenario) string {
	count := make(map[string]int)
	for _, r := range d.all() {
		if r.Scenario == s.Name && r.Error != "" {
			count[r.System]++
		}
	}
	var b strings.Builder
	for _, system := range sortedKeys(count) {
		fmt.Fprintf(&b, "- %s: %d measurements failed\n", system, count[system])
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}
