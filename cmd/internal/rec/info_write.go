// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/recording"
	"tagbus/tags"
)

// write writes the files, then the rows, and the sums of all of them.
func (c *Info) write(ctx context.Context, e *tool.Env, rs recording.Readers, rows *infoRows, shown []uint32) error {
	for n, r := range rs {
		if err := writeFile(ctx, e, r, rows.stepsOf[n]); err != nil {
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
		for _, line := range holeLines(rows.holes) {
			fmt.Fprintln(e.Out, sanitize.Line(line+": rates are those of the time with data"))
		}
		if rows.count > 0 {
			fmt.Fprintln(e.Out)
		}
	}
	if err := rows.write(e, shown); err != nil || e.JSON {
		return err
	}
	return rows.writeTotal(e.Out, len(shown))
}

// infoObject is a row as --json prints it.
type infoObject struct {
	Tag       tags.Tag          `json:"tag"`
	Publisher string            `json:"publisher,omitempty"` // its name
	Instance  string            `json:"instance,omitempty"`
	Messages  uint64            `json:"messages"`
	Bytes     uint64            `json:"bytes"`
	Rate      float64           `json:"rate"` // messages a second, over the time with data
	First     time.Time         `json:"first,omitzero"`
	Last      time.Time         `json:"last,omitzero"`
	Lost      uint64            `json:"lost"` // without those that are left out on purpose
	Causes    map[string]uint64 `json:"causes,omitempty"`
}

// object returns a row as --json prints it.
func (rows *infoRows) object(r *infoRow) infoObject {
	by := rows.by(r)
	o := infoObject{Tag: r.tag, Publisher: by.name, Instance: by.instance, Messages: r.messages, Bytes: r.bytes, Rate: rows.rate(r), Lost: r.lost()}
	if o.First, o.Last = r.span(); r.losses != nil {
		o.Causes = lostMap(*r.losses)
	}
	return o
}

// rate returns the messages of a row in a second of the time with data.
func (rows *infoRows) rate(r *infoRow) float64 {
	s := rows.recorded.Seconds()
	if s <= 0 {
		return 0
	}
	return float64(r.messages) / s
}

// write writes rows, each by itself: there may be millions.
func (rows *infoRows) write(e *tool.Env, shown []uint32) error {
	if len(shown) == 0 {
		return nil
	}
	t := table.New(e.Out, e.JSON, table.Tags("TAG").Key(), table.Text("PUBLISHER"), table.Number("COUNT").Key(), table.Number("BYTES"),
		table.Number("RATE"), table.Number("FIRST"), table.Number("LAST"), table.Whole("LOST"))
	clock := rows.clock(shown)
	cells := func(r *infoRow) []string {
		losses := recording.Losses{}
		if r.losses != nil {
			losses = *r.losses
		}
		first, last := r.span()
		return []string{
			r.tag.String(), rows.by(r).name, units.FormatCount(r.messages), units.FormatCount(r.bytes),
			units.FormatRate(rows.rate(r)), clock.cell(first), clock.cell(last), lostCell(losses),
		}
	}
	if !e.JSON {
		for _, i := range shown {
			t.Measure(cells(rows.at(i))...)
		}
	}
	if err := t.Stream(); err != nil {
		return err
	}
	for _, i := range shown {
		r := rows.at(i)
		var err error
		if e.JSON {
			err = t.Row(rows.object(r))
		} else {
			err = t.Row(nil, cells(r)...)
		}
		if err != nil {
			return err
		}
	}
	return t.Flush()
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

// clock returns how the times of rows are written.
func (rows *infoRows) clock(shown []uint32) clock {
	day := ""
	for _, i := range shown {
		first, last := rows.at(i).span()
		for _, t := range [...]time.Time{first, last} {
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
func (rows *infoRows) writeTotal(out io.Writer, shown int) error {
	messages, bytes, losses := uint64(0), uint64(0), rows.untoldLosses
	for i := range rows.count {
		r := rows.at(i)
		messages += r.messages
		bytes += r.bytes
		if r.losses == nil {
			continue
		}
		for c, n := range r.losses {
			losses[c] += n
		}
	}
	note := ""
	if shown < int(rows.count) {
		note = fmt.Sprintf(" (%d of them shown, --head)", shown)
	}
	_, err := fmt.Fprintf(out, "%s%s: %s, %s of data, lost: %v\n", units.FormatNumber(int(rows.count), "row"), note,
		units.FormatNumber(messages, "message"), units.FormatBytes(float64(bytes)), losses)
	return err
}

// writeFile writes what is in the header of a file, and how it was opened.
//
//   - steps: of the clock of its recorder.
func writeFile(ctx context.Context, e *tool.Env, r *recording.Reader, steps uint64) error {
	i := r.Info()
	if e.JSON {
		return writeFileJSON(ctx, e.Out, r, steps)
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
