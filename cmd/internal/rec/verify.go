// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/recording"
	"tagbus/tags"
)

// Verify is the command line of verify.
type Verify struct {
	tool.NoBus

	Files []string `arg:"" name:"file" help:"Files of recordings. Each recording is checked alone, with all its parts that are given."`
	Head  int      `short:"n" default:"50" placeholder:"N" help:"Only the first N rows of tags with holes, those that miss most; 0: all. Default ${default}."`
}

// Check reports what is wrong with the flags.
func (c *Verify) Check() error { return tool.CheckHead(c.Head) }

// Run checks the recordings.
func (c *Verify) Run(ctx context.Context, e *tool.Env) (err error) {
	rs, closeAll, err := Open(ctx, c.Files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	whole := true
	for i, files := range rs.Recordings() {
		report, err := recording.Verify(files...)
		if err != nil {
			return err
		}
		recorded, gaps := files.Recorded()
		if ctx.Err() != nil { // and the report is wrong
			return context.Cause(ctx)
		}
		whole = whole && report.Whole()
		if i > 0 && !e.JSON {
			fmt.Fprintln(e.Out)
		}
		if err := c.write(e, &verified{report, recorded, gaps}); err != nil {
			return err
		}
	}
	if !whole {
		return &tool.StatusError{Code: cli.ExitFailed}
	}
	return nil
}

// verified is what was found in a recording.
type verified struct {
	*recording.Report
	recorded time.Duration // in which there was data
	gaps     []recording.Hole
}

// write writes the report, the holes, and what to do.
func (c *Verify) write(e *tool.Env, v *verified) error {
	r := v.Report
	id := r.Files[0].ID
	holes := holesOf(r)
	shown := tool.First(holes, c.Head)
	if e.JSON {
		return writeReportJSON(e.Out, v, id, shown)
	}
	of := id.String()
	if id == (recording.ID{}) {
		of = "unknown"
	}
	if _, err := fmt.Fprintf(e.Out, "recording %s: %v", of, r); err != nil {
		return err
	}
	for _, line := range holeLines(v.gaps) {
		if _, err := fmt.Fprintf(e.Out, "%s; there is data of %s\n", line, units.FormatDuration(v.recorded)); err != nil {
			return err
		}
	}
	t := table.New(e.Out, false, table.Tags("TAG").Key(), table.Text("PUBLISHER"), table.Number("MESSAGES"), table.Number("FIRST"),
		table.Number("LAST"), table.Number("MISSING").Key(), table.Number("UNEXPLAINED"), table.Whole("LOST"), table.Text("ALSO"))
	for _, s := range shown {
		if err := t.Row(nil, s.Tag.String(), nameOf(s.Peer), units.FormatCount(s.Messages), counterCell(s.First), counterCell(s.Last),
			units.FormatCount(s.Missing), units.FormatCount(s.Unexplained), lostCell(s.Lost), alsoCell(s)); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(shown) < len(holes) {
		fmt.Fprintf(e.Out, "%d of %d rows (--head)\n", len(shown), len(holes))
	}
	for _, line := range advice(r) {
		if _, err := fmt.Fprintln(e.Out, "-> "+line); err != nil {
			return err
		}
	}
	return nil
}

// holesOf returns the series that have holes, those first that miss most.
func holesOf(r *recording.Report) (holes []*recording.SeriesReport) {
	for i := range r.Series {
		s := &r.Series[i]
		if s.Missing+s.Repeated+s.Backward > 0 || s.Lost != (recording.Losses{}) {
			holes = append(holes, s)
		}
	}
	missed := func(s *recording.SeriesReport) uint64 { return max(s.Missing, s.Lost.Lost()) }
	slices.SortStableFunc(holes, func(a, b *recording.SeriesReport) int { return cmp.Compare(missed(b), missed(a)) })
	return holes
}

// counterCell returns a counter, and nothing of a tag without messages.
func counterCell(n uint64) string {
	if n == 0 {
		return ""
	}
	return units.FormatCount(n)
}

// alsoCell says what is wrong beyond holes.
func alsoCell(s *recording.SeriesReport) string {
	var parts []string
	if s.Repeated > 0 {
		parts = append(parts, fmt.Sprintf("twice %d", s.Repeated))
	}
	if s.Backward > 0 {
		parts = append(parts, fmt.Sprintf("out of order %d", s.Backward))
	}
	return strings.Join(parts, ", ")
}

// advice returns what to do about what is wrong, a line for each.
func advice(r *recording.Report) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, sanitize.Linef(format, args...)) }
	for i := range r.Files {
		f := &r.Files[i]
		switch {
		case f.BeingWritten:
			add("%s: verify it again once its recorder has ended", f.File)
		case f.HeaderCut:
			add("%s: remove it", f.File)
		case !f.Indexed:
			add("tagbus rec index %s writes the index, so that the file opens without a walk; what is missing stays missing", f.File)
		}
		if f.Broken > 0 || f.Skipped > 0 || f.HeaderDamage != nil {
			add("%s is damaged: copy it again from where it was recorded, and check the disk; tagbus rec cut takes over all that can be read", f.File)
		}
	}
	if len(r.PartReasons()) > 0 {
		add("give all parts of the recording, each once: %s", partsText(r))
	}
	t := r.Total()
	if t.Lost[recording.CauseFull]+t.Lost[recording.CauseMemory]+t.Lost[recording.CauseQueueFull] > 0 {
		add("the recorder or its disk was slower than the publishers: record with --policy block, a larger --queue-bytes, fewer tags, or --codec s2 on a slow disk")
	}
	if t.Lost[recording.CauseConnection] > 0 {
		add("connections broke while messages were on their way: tagbus losses and the publishers' logs say why; merge it with another recorder's recording of the time (tagbus rec merge)")
	}
	if t.Repeated > 0 {
		add("tagbus rec merge drops what is there twice")
	}
	return lines
}

// partsText says which parts there are.
func partsText(r *recording.Report) string {
	var parts []string
	for i := range r.Files {
		if i == 10 {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, fmt.Sprintf("%d is %s", r.Files[i].Part, r.Files[i].File))
	}
	return strings.Join(parts, ", ")
}

// reportObject is a recording as verify --json prints it.
type reportObject struct {
	Recording   string            `json:"recording"`
	Whole       bool              `json:"whole"`
	Reasons     []string          `json:"reasons"`
	Advice      []string          `json:"advice"`
	Files       int               `json:"files"`
	Publishers  int               `json:"publishers"`
	Messages    uint64            `json:"messages"`
	Bytes       uint64            `json:"bytes"`
	ClockSteps  uint64            `json:"clock_steps"`
	Recorded    float64           `json:"recorded_seconds"`
	Holes       int               `json:"holes"` // times in which nothing was recorded
	Missing     uint64            `json:"missing"`
	Unexplained uint64            `json:"unexplained"`
	Lost        map[string]uint64 `json:"lost,omitempty"`
}

// holeObject is a tag with holes as verify --json prints it.
type holeObject struct {
	Recording   string            `json:"recording"`
	Tag         tags.Tag          `json:"tag"`
	Publisher   string            `json:"publisher,omitempty"`
	Instance    string            `json:"instance,omitempty"`
	Messages    uint64            `json:"messages"`
	First       uint64            `json:"first"`
	Last        uint64            `json:"last"`
	Missing     uint64            `json:"missing"`
	Unexplained uint64            `json:"unexplained"`
	Repeated    uint64            `json:"repeated"`
	Backward    uint64            `json:"backward"`
	Lost        map[string]uint64 `json:"lost,omitempty"`
}

// writeReportJSON writes a recording, and a line for each tag with holes.
func writeReportJSON(out io.Writer, r *verified, id recording.ID, holes []*recording.SeriesReport) error {
	t := r.Total()
	o := reportObject{
		Recorded: r.recorded.Seconds(), Holes: len(r.gaps),
		Recording: id.String(), Whole: r.Whole(), Reasons: append([]string{}, r.Reasons...), Advice: append([]string{}, advice(r.Report)...),
		Files: len(r.Files), Publishers: len(r.Publishers), Messages: t.Messages, Bytes: t.Bytes,
		ClockSteps: r.Clock.Count, Missing: t.Missing, Unexplained: t.Unexplained, Lost: lostMap(t.Lost),
	}
	if err := cli.WriteJSON(out, o); err != nil {
		return err
	}
	for _, s := range holes {
		h := holeObject{
			Recording: id.String(), Tag: s.Tag, Messages: s.Messages, First: s.First, Last: s.Last, Missing: s.Missing,
			Unexplained: s.Unexplained, Repeated: s.Repeated, Backward: s.Backward, Lost: lostMap(s.Lost),
		}
		if s.Peer != nil {
			h.Publisher, h.Instance = s.Peer.Name, s.Peer.Instance
		}
		if err := cli.WriteJSON(out, h); err != nil {
			return err
		}
	}
	return nil
}

// lostMap returns the causes that have a number.
func lostMap(l recording.Losses) map[string]uint64 {
	m := make(map[string]uint64)
	for c, n := range l {
		if n > 0 {
			m[recording.Cause(c).String()] = n
		}
	}
	return m
}
