// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"strings"

	"tagbus/bench/internal/costs"
	"tagbus/bench/internal/load"
	"tagbus/bench/internal/run"
	"tagbus/bench/internal/scenario"
)

const aboutProfiles = `From CPU profiles of the publisher of %s, with messages of %d bytes. A message is
copied once, into a page that all its subscribers share; then each of them takes system
calls of its own. So the copy is to cost the same whatever the number of subscribers is,
and sendmsg is to grow with its calls. What the system does in there belongs to it: it
copies the page for each socket and, over loopback, carries it to the receiver.

`

// spent is what one profiled scenario says: sums of all its measurements.
type spent struct {
	subscribers     int
	sent            float64            // messages published
	cpu             float64            // of the publisher, ns, as the system counts
	kinds           map[string]float64 // ns in samples of the profile, by what they went into
	samples         float64            // all of these
	calls           float64            // of sendmsg; NaN if they were not counted
	pages, messages float64            // sent, counted for each subscriber
}

func spentIn(s scenario.Scenario, records []run.Record) spent {
	sum := spent{subscribers: s.Processes(), kinds: make(map[string]float64)}
	for _, r := range records {
		sum.sent += float64(r.Sent)
		sum.cpu += r.PublisherCPU * 1e9
		if calls, counted := r.Extra[run.SendCalls]; counted {
			sum.calls += calls
		} else {
			sum.calls = math.NaN()
		}
		sum.pages += r.Extra[load.SentPages]
		sum.messages += r.Extra[load.SentMessages]
		for kind, ns := range r.Profile {
			sum.kinds[kind] += ns
			sum.samples += ns
		}
	}
	return sum
}

// profiles is the table of all profiled scenarios; empty if none was measured.
func profiles(d Data) string {
	var columns []spent
	var about scenario.Scenario
	for _, s := range scenario.All() {
		if records := d.of(s.Name, s.Compared()); s.Profiled && len(records) > 0 {
			columns, about = append(columns, spentIn(s, records)), s
		}
	}
	if columns == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, aboutProfiles, about.Compared(), about.Size)
	row := func(name, format string, figure func(spent) float64) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, c := range columns {
			text := "–" // of what this machine does not count
			if v := figure(c); !math.IsNaN(v) && !math.IsInf(v, 0) {
				text = fmt.Sprintf(format, v)
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteString("\n")
	}
	head := func(name string) {
		row(name+", to this many subscribers", "%.0f", func(s spent) float64 { return float64(s.subscribers) })
		b.WriteString("|---|" + strings.Repeat("---|", len(columns)) + "\n")
	}
	head("ns of CPU for each message published")
	for _, kind := range costs.Kinds {
		row(kind, "%.1f", func(s spent) float64 { return s.kinds[kind] / s.sent })
	}
	row("all samples of the profile", "%.1f", func(s spent) float64 { return s.samples / s.sent })
	row("all that the system has counted", "%.1f", func(s spent) float64 { return s.cpu / s.sent })
	b.WriteString("\n")
	head("for 1,000 messages published")
	row("pages filled", "%.2f", func(s spent) float64 { return 1000 * s.pages / s.messages })
	row("calls of sendmsg", "%.2f", func(s spent) float64 { return 1000 * s.calls / s.sent })
	row("µs of CPU in each call of sendmsg", "%.1f", func(s spent) float64 { return s.kinds[costs.Send] / s.calls / 1e3 })
	return b.String()
}
