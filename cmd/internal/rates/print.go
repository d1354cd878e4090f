// SPDX-License-Identifier: Apache-2.0

package rates

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
)

// printer writes rates.
type printer struct {
	table *table.Table
	bytes bool
	head  int
}

func newPrinter(e *tool.Env, probe, bytes bool, head int) *printer {
	columns := []table.Column{table.Whole("TIME"), table.Tags("TAG").Key(), table.Text("NAME")}
	add := func(titles ...string) {
		for _, title := range titles {
			columns = append(columns, table.Number(title))
		}
	}
	if bytes {
		columns = append(columns, table.Number("MB/S").Key(), table.Number("MEAN"))
	} else {
		columns = append(columns, table.Number("MSG/S").Key())
	}
	if probe {
		add("GAP-MIN", "GAP-MEAN", "GAP-MAX", "GAP-STD", "LEFT-OUT")
	} else {
		add("MESSAGES", "BYTES", "SUBS")
	}
	return &printer{table: table.New(e.Out, e.JSON, columns...), bytes: bytes, head: head}
}

// clock is how times are shown.
const clock = "15:04:05"

// rates writes what was counted in a window.
func (p *printer) rates(all []rate) error {
	for _, r := range chosen(all, p.head, p.bytes, func(r *rate) figures {
		return figures{uint64(r.Tag.Tag), cmp.Or(r.Name, r.Instance), *r.MessageRate, *r.ByteRate}
	}) {
		cells := p.common(r.Time, r.Tag.Tag.String(), cmp.Or(r.Name, r.Instance), *r.MessageRate, *r.ByteRate)
		cells = append(cells, units.FormatCount(r.Messages), units.FormatBytes(float64(r.PayloadBytes)), units.FormatCount(uint64(r.Peers)))
		if err := p.table.Row(r, cells...); err != nil {
			return err
		}
	}
	return p.table.Flush()
}

// gaps writes what a probe has seen in a window.
func (p *printer) gaps(all []gapsOf) error {
	for _, g := range chosen(all, p.head, p.bytes, func(g *gapsOf) figures {
		return figures{uint64(g.Tag), cmp.Or(g.Name, g.Instance), g.MessageRate, g.ByteRate}
	}) {
		cells := p.common(g.Time, g.Tag.String(), cmp.Or(g.Name, g.Instance), g.MessageRate, g.ByteRate)
		for _, seconds := range []*float64{g.Min, g.Mean, g.Max, g.Std} {
			text := ""
			if seconds != nil {
				text = units.FormatDuration(time.Duration(math.Round(*seconds * float64(time.Second))))
			}
			cells = append(cells, text)
		}
		if err := p.table.Row(g, append(cells, units.FormatCount(g.LeftOut))...); err != nil {
			return err
		}
	}
	return p.table.Flush()
}

// common returns the cells that both have.
func (p *printer) common(at time.Time, tag, name string, messages, bytes float64) []string {
	cells := []string{at.Local().Format(clock), tag, name}
	if !p.bytes {
		return append(cells, units.FormatFigure(messages))
	}
	mean := ""
	if messages > 0 {
		mean = units.FormatBytes(bytes / messages)
	}
	return append(cells, units.FormatFigure(bytes/1e6), mean)
}

// figures are what rows are ordered by.
type figures struct {
	tag             uint64
	name            string
	messages, bytes float64
}

// chosen returns the rows to show, in their order.
//
//   - head: only so many, the highest rates first; 0: all, by tag and name.
func chosen[T any](rows []T, head int, bytes bool, of func(*T) figures) []T {
	slices.SortFunc(rows, func(a, b T) int {
		x, y := of(&a), of(&b)
		byRate := 0
		switch {
		case head == 0:
		case bytes:
			byRate = cmp.Compare(y.bytes, x.bytes)
		default:
			byRate = cmp.Compare(y.messages, x.messages)
		}
		return cmp.Or(byRate, cmp.Compare(x.tag, y.tag), cmp.Compare(x.name, y.name))
	})
	return tool.First(rows, head)
}

func line(format string, args ...any) string { return sanitize.Linef(format, args...) }
