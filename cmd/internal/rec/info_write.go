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
	"tagbus/internal/sanitize"
	"tagbus/recording"
)

// write writes the files, then the rows, and the sums of all of them.
func (c *Info) write(e *tool.Env, rs recording.Readers, rows *infoRows, shown []*infoRow) error {
	for n, r := range rs {
		if err := writeFile(e, r.Info(), rows.stepsOf[n]); err != nil {
			return err
		}
	}
	if !e.JSON {
		for _, step := range rows.steps {
			fmt.Fprintln(e.Out, sanitize.Line(step))
		}
		if more := sum(rows.stepsOf) - uint64(len(rows.steps)); more > 0 {
			fmt.Fprintf(e.Out, "the clock of the recorder was set %d times more\n", more)
		}
	}
	if !e.JSON && len(rows.found) > 0 {
		fmt.Fprintln(e.Out)
	}
	t := table.New(e.Out, e.JSON, table.Tags("TAG").Key(), table.Text("PUBLISHER"), table.Number("COUNT").Key(), table.Number("BYTES"),
		table.Number("RATE"), table.Number("FIRST"), table.Number("LAST"), table.Whole("LOST"))
	clock := clockOf(shown)
	for _, r := range shown {
		losses := recording.Losses{}
		if r.losses != nil {
			losses = *r.losses
			r.Causes = lostMap(losses)
		}
		if err := t.Row(r, r.Tag.String(), r.Publisher, units.FormatCount(r.Messages), units.FormatCount(r.Bytes),
			units.FormatRate(r.Rate), clock.cell(r.First), clock.cell(r.Last), lostCell(losses)); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil || e.JSON {
		return err
	}
	return writeTotal(e.Out, rows, len(shown))
}

func sum(all []uint64) (n uint64) {
	for _, k := range all {
		n += k
	}
	return n
}

func lostCell(l recording.Losses) string {
	if l == (recording.Losses{}) {
		return ""
	}
	return l.String()
}

// clock writes times in the zone of this host: those of one day without it.
type clock string

// clockOf returns how the times of rows are written.
func clockOf(rows []*infoRow) clock {
	day := ""
	for _, r := range rows {
		for _, t := range []time.Time{r.First, r.Last} {
			d := t.Local().Format(time.DateOnly)
			if !t.IsZero() && day != "" && d != day {
				return "2006-01-02 15:04:05.000"
			}
			if !t.IsZero() {
				day = d
			}
		}
	}
	return "15:04:05.000"
}

func (c clock) cell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(string(c))
}

// writeTotal writes the sums of all rows.
func writeTotal(out io.Writer, rows *infoRows, shown int) error {
	messages, bytes, losses := uint64(0), uint64(0), rows.untoldLosses
	for _, r := range rows.found {
		messages += r.Messages
		bytes += r.Bytes
		if r.losses == nil {
			continue
		}
		for c, n := range r.losses {
			losses[c] += n
		}
	}
	note := ""
	if shown < len(rows.found) {
		note = fmt.Sprintf(" (%d of them shown, --head)", shown)
	}
	_, err := fmt.Fprintf(out, "%s%s: %s, %s of data, lost: %v\n", units.FormatNumber(len(rows.found), "row"), note,
		units.FormatNumber(messages, "message"), units.FormatBytes(float64(bytes)), losses)
	return err
}

// writeFile writes what is in the header of a file, and how it was opened.
//
//   - steps: of the clock of its recorder.
func writeFile(e *tool.Env, i recording.Info, steps uint64) error {
	if e.JSON {
		return writeFileJSON(e.Out, i, steps)
	}
	line := func(format string, args ...any) { fmt.Fprintln(e.Out, sanitize.Linef(format, args...)) }
	by := ""
	if i.Name != "" {
		by += " by " + i.Name
	}
	if i.Host != "" {
		by += " on " + i.Host
	}
	if i.ID == (recording.ID{}) {
		line("%s: of an unknown recording", i.File)
	} else {
		line("%s: part %d of recording %v%s", i.File, i.Part, i.ID, by)
	}
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
	if i.ClockBack > 0 {
		line("  its times go back by %v between two blocks: the clock of the recorder was set back", i.ClockBack.Round(time.Millisecond))
	}
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
	case i.HeaderCut:
		return "not opened: " + whyCut(i)
	case i.BeingWritten:
		return "opened by a walk over its blocks: " + whyCut(i)
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
