// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"tagbus/bench/internal/load"
	"tagbus/bench/internal/run"
)

// directoryColumns are the columns of the table of a directory: what stands in the head,
// the name in Record.Extra, and how it is written.
var directoryColumns = []struct {
	head, name, format string
	times              float64
}{
	{"all see all, s", load.AllSeen, "%.2f", 1},
	{"slowest Announce, s", load.SlowestAnnounce, "%.2f", 1},
	{"one more is seen by all, s", load.OneSeen, "%.2f", 1},
	{"CPU of servers, s", load.ServersCPU, "%.1f", 1},
	{"CPU of clients, s", load.ClientsCPU, "%.1f", 1},
	{"memory of a member, MB", load.MemberBytes, "%.0f", 1e-6},
	{"of all clients, MB", load.ClientsBytes, "%.0f", 1e-6},
	{"idle: servers", load.ServersIdle, "%.1f %%", 100},
	{"idle: clients", load.ClientsIdle, "%.1f %%", 100},
	{"entries gone", load.WronglyGone, "%.0f", 1},
	{"problems", load.Problems, "%.0f", 1},
}

// directoryTable is the table of a directory.
func directoryTable(rows []result) string {
	var b strings.Builder
	b.WriteString("| system |")
	for _, column := range directoryColumns {
		b.WriteString(" " + column.head + " |")
	}
	b.WriteString(" others |\n|---|" + strings.Repeat("---|", len(directoryColumns)+1) + "\n")
	for _, r := range rows {
		b.WriteString("| " + r.system + " |")
		for _, column := range directoryColumns {
			fmt.Fprintf(&b, " %s |", r.figure(column.format, func(r run.Record) float64 { return column.times * r.Extra[column.name] }))
		}
		fmt.Fprintf(&b, " %s |\n", r.figure("%.0f %%", func(r run.Record) float64 { return 100 * r.Foreign }))
	}
	return b.String()
}
