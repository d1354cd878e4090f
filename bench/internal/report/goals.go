// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"tagbus/bench/internal/run"
	"tagbus/bench/internal/scenario"
)

// figure returns what computes a figure of the measurements of a scenario.
func figure(s scenario.Scenario, m scenario.Metric) func(run.Record) float64 {
	return func(r run.Record) float64 { return r.Figure(m, s.Size) }
}

// goals is the table of all goals that can be told.
func goals(d Data) string {
	var b strings.Builder
	for _, s := range scenario.All() {
		for _, g := range s.Goals() {
			b.WriteString(goal(d, s, g))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "## Goals\n\n| scenario | figure | ratio of medians | goal | measured | |\n|---|---|---|---|---|---|\n" + b.String()
}

// goal is the row of a goal; empty if its systems were not measured.
func goal(d Data, s scenario.Scenario, g scenario.Goal) string {
	records, others := d.of(s.Name, g.System), d.of(g.In, g.Of)
	if len(records) == 0 || g.Of != "" && len(others) == 0 {
		return ""
	}
	measured, _, _ := middle(records, figure(s, g.Metric))
	what := g.System
	text := func(v float64) string { return amount(g.Metric, v) }
	if g.Of != "" {
		of, _, _ := middle(others, figure(s, g.Metric))
		if of == 0 {
			return ""
		}
		measured /= of
		what += " / " + g.Of
		if g.In != s.Name {
			what += " in " + g.In
		}
		text = func(v float64) string { return fmt.Sprintf("%.2fx", v) }
	}
	want, met := "≥ "+text(g.AtLeast), measured >= g.AtLeast
	if g.AtMost > 0 {
		want, met = "≤ "+text(g.AtMost), measured <= g.AtMost
	}
	mark := "met"
	if !met {
		mark = "**not met**"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", s.Name, metricName(g.Metric), what, want, text(measured), mark)
}
