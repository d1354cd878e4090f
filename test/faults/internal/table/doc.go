// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"strings"
	"time"
)

// Line returns an outcome as a line for people who wait.
func (o Outcome) Line() string {
	with := strings.Trim(o.Directory+" "+o.Way, " ")
	text := fmt.Sprintf("%-8s %-8s %-10s %6s  %s", o.Verdict, o.Row.Number, with, Short(o.Took), o.Row.Name)
	if o.Reason != "" {
		text += "\n           " + o.Reason
		if o.Logs != "" && o.Verdict == Broken {
			text += "\n           what the processes said: " + o.Logs
		}
	}
	if len(o.Measured) > 0 {
		text += "\n           " + strings.Join(o.Measured, "; ")
	}
	return text
}

// Count returns how many outcomes have each verdict.
func Count(outcomes []Outcome) (kept, broken, notRun int) {
	for _, o := range outcomes {
		switch o.Verdict {
		case Kept:
			kept++
		case Broken:
			broken++
		case NotRun:
			notRun++
		}
	}
	return kept, broken, notRun
}

// Summary returns the counts as a line.
func Summary(outcomes []Outcome) string {
	kept, broken, notRun := Count(outcomes)
	return fmt.Sprintf("%d promises kept, %d broken, %d not run", kept, broken, notRun)
}

// Markdown returns docs/faults.md.
//
//   - machine: where that was measured.
func Markdown(outcomes []Outcome, head, machine string) string {
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "\nOn %s, on a machine with %s: %s.\n\n## The table\n\n", time.Now().UTC().Format(time.DateOnly), machine, Summary(outcomes))
	b.WriteString("| row | fault | injected | promised |\n|---|---|---|---|\n")
	for i, o := range outcomes {
		if i == 0 || o.Row != outcomes[i-1].Row {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", o.Row.Number, o.Row.Name, o.Row.Inject, o.Row.Promise)
		}
	}
	b.WriteString("\n## What was measured\n\nA time has the promised one behind it, and a number the least or largest one.\n\n")
	b.WriteString("| row | directory | transport | verdict | measured |\n|---|---|---|---|---|\n")
	for _, o := range outcomes {
		what := strings.Join(o.Measured, "; ")
		if o.Reason != "" {
			what = strings.Trim(what+"; "+o.Reason, "; ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", o.Row.Number, o.Directory, o.Way, o.Verdict, strings.NewReplacer("|", "/", "\n", " ").Replace(what))
	}
	return b.String()
}
