// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/plain"
	"tagbus/recording"
)

// write writes the files, then the rows, and the sums of all of them.
func (c *Info) write(e *tool.Env, rs recording.Readers, rows, shown []*infoRow) error {
	for _, r := range rs {
		if err := writeFile(e, r.Info()); err != nil {
			return err
		}
	}
	if !e.JSON && len(rows) > 0 {
		fmt.Fprintln(e.Out)
	}
	t := table.New(e.Out, e.JSON, table.Text("TAG"), table.Text("PUBLISHER"), table.Number("COUNT"), table.Number("BYTES"),
		table.Number("RATE"), table.Number("FIRST"), table.Number("LAST"), table.Text("LOST"))
	for _, r := range shown {
		if err := t.Row(r, r.Tag.String(), r.Publisher, units.FormatCount(r.Messages), units.FormatCount(r.Bytes),
			units.FormatRate(r.Rate), clock(r.First), clock(r.Last), lostCell(r.losses)); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil || e.JSON {
		return err
	}
	return writeTotal(e.Out, rows, len(shown))
}

func lostCell(l recording.Losses) string {
	if l == (recording.Losses{}) {
		return ""
	}
	return l.String()
}

// clock returns the time of day in the zone of this host.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("15:04:05.000")
}

// writeTotal writes the sums of all rows.
func writeTotal(out io.Writer, rows []*infoRow, shown int) error {
	messages, bytes, losses := uint64(0), uint64(0), recording.Losses{}
	for _, r := range rows {
		messages += r.Messages
		bytes += r.Bytes
		for c, n := range r.losses {
			losses[c] += n
		}
	}
	note := ""
	if shown < len(rows) {
		note = fmt.Sprintf(" (%d of them shown, --head)", shown)
	}
	_, err := fmt.Fprintf(out, "%s%s: %s, %s of data, lost: %v\n", units.FormatNumber(len(rows), "row"), note,
		units.FormatNumber(messages, "message"), units.FormatBytes(float64(bytes)), losses)
	return err
}

// writeFile writes what is in the header of a file, and how it was opened.
func writeFile(e *tool.Env, i recording.Info) error {
	if e.JSON {
		return writeFileJSON(e.Out, i)
	}
	line := func(format string, args ...any) { fmt.Fprintln(e.Out, plain.Linef(format, args...)) }
	by := ""
	if i.Name != "" {
		by += " by " + i.Name
	}
	if i.Host != "" {
		by += " on " + i.Host
	}
	line("%s: part %d of recording %v%s", i.File, i.Part, i.ID, by)
	if i.HeaderDamage != nil {
		line("  %v", i.HeaderDamage)
	}
	if !i.Created.IsZero() {
		line("  begun %s, written by %s", units.FormatTime(i.Created), cmp.Or(i.Version, "an unknown version"))
	}
	if !i.Tags.IsEmpty() || i.Policy != "" {
		text, all := i.Tags.Short(80)
		if !all {
			text += fmt.Sprintf("... (%d parts)", i.Tags.Parts())
		}
		line("  asked for: tags %s, policy %s", cmp.Or(text, "none"), cmp.Or(i.Policy, "not known"))
	}
	line("  %s in %s: %s, %s, %s", units.FormatBytes(float64(i.Bytes)), units.FormatNumber(i.Blocks, "block"),
		units.FormatNumber(i.Messages, "message"), units.FormatNumber(i.Events, "event"), spanText(i.First, i.Last))
	line("  %s", openedText(&i))
	return nil
}

func spanText(first, last time.Time) string {
	if first.IsZero() {
		return "no time"
	}
	return fmt.Sprintf("%s from %s on", units.FormatDuration(last.Sub(first)), first.Local().Format("2006-01-02 15:04:05.000"))
}

// openedText says how a file was opened.
func openedText(i *recording.Info) string {
	switch {
	case !i.Indexed:
		return "opened by a walk over its blocks: " + whyCut(i) + "; tagbus rec index repairs it"
	case i.Repaired:
		return "opened by its index: " + whyCut(i)
	case i.Continues:
		return fmt.Sprintf("opened by its index; part %d follows", i.Part+1)
	default:
		return "opened by its index; it is the last part"
	}
}
