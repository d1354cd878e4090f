// SPDX-License-Identifier: Apache-2.0

//go:build linux

package losses

import (
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/units"
)

// titles are the columns.
var titles = []table.Column{
	table.Text("TAG"), table.Text("PUBLISHER"), table.Text("SUBSCRIBER"), table.Text("POLICY"), table.Text("CAUSE"),
	table.Number("COUNT"), table.Number("FIRST"), table.Number("LAST"), // a time is not to be cut
}

// spare are the columns that a narrow terminal does without, the first one first.
var spare = []string{"FIRST", "POLICY"}

const (
	gap       = 2  // blanks between two columns
	leastName = 10 // what a table leaves of a name
)

// write writes rows.
func write(out io.Writer, asJSON bool, now time.Time, rows []Row) error {
	columns := slices.Clone(titles)
	lines := make([][]string, len(rows))
	if !asJSON {
		for i := range rows {
			lines[i] = rows[i].cells(now)
		}
		columns, lines = fit(columns, lines, table.Width(out))
	}
	t := table.New(out, asJSON, columns...)
	for i := range rows {
		if err := t.Row(&rows[i], lines[i]...); err != nil {
			return err
		}
	}
	return t.Flush()
}

func (r *Row) cells(now time.Time) []string {
	return []string{
		r.what(), called(&r.Publisher), called(&r.Subscriber), r.Policy, string(r.Cause),
		units.FormatCount(r.Messages), clock(now, r.First), clock(now, r.Last),
	}
}

// clock returns a time in the zone of this host, without the day if it is of today.
func clock(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	now, t = now.Local(), t.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2006-01-02 15:04")
}

// fit leaves columns out as long as lines are too wide, however short names are cut.
//
//   - limit: of a line, in characters; 0: none.
func fit(columns []table.Column, lines [][]string, limit int) ([]table.Column, [][]string) {
	for _, title := range spare {
		if limit == 0 || least(columns, lines) <= limit {
			break
		}
		at := slices.IndexFunc(columns, func(c table.Column) bool { return c.Title == title })
		columns = slices.Delete(columns, at, at+1)
		for i := range lines {
			lines[i] = slices.Delete(lines[i], at, at+1)
		}
	}
	return columns, lines
}

// least returns how wide lines are whose names are cut.
func least(columns []table.Column, lines [][]string) (width int) {
	for i, c := range columns {
		widest := utf8.RuneCountInString(c.Title)
		for _, line := range lines {
			widest = max(widest, utf8.RuneCountInString(line[i]))
		}
		if c.Title == "PUBLISHER" || c.Title == "SUBSCRIBER" {
			widest = min(widest, leastName)
		}
		width += widest + gap
	}
	return width - gap
}
