// SPDX-License-Identifier: Apache-2.0

//go:build linux

package losses

import (
	"io"
	"time"

	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/units"
)

// titles are the columns.
var titles = []table.Column{
	table.Tags("TAG"), table.Text("PUBLISHER"), table.Text("SUBSCRIBER"), table.Text("POLICY"), table.Text("CAUSE"),
	table.Number("COUNT").Key(), table.Number("FIRST"), table.Number("LAST"),
}

// write writes rows.
func write(out io.Writer, asJSON bool, now time.Time, rows []Row) error {
	t := table.New(out, asJSON, titles...)
	for i := range rows {
		if err := t.Row(&rows[i], rows[i].cells(now)...); err != nil {
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
