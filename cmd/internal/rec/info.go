// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/recording"
	"tagbus/tags"
)

// Info is the command line of info.
type Info struct {
	busless

	Files     []string `arg:"" name:"file" help:"Files of recordings."`
	Tags      tags.Set `placeholder:"TAGS" help:"Only these tags: tags, ranges FIRST-LAST, value&mask and slash forms with *, separated by commas. Default: all."`
	Publisher string   `placeholder:"NAME" help:"Only what comes from publishers of this name or instance. Default: all."`
	Exact     bool     `help:"Read all messages, for the exact times of the first and the last message of each tag. Without this flag they are those of the blocks that have messages of it."`
	Sort      string   `default:"tag" placeholder:"KEY" help:"Order: tag, publisher, count, bytes or lost (the most first), first or last (the earliest first). Default ${default}."`
	Head      int      `short:"n" placeholder:"N" help:"Only the first N rows."`
}

// Check reports what is wrong with the flags.
func (c *Info) Check() error {
	var errs []error
	if infoOrders[c.Sort] == nil {
		errs = append(errs, fmt.Errorf("--sort: got %q, want tag, publisher, count, bytes, lost, first or last", c.Sort))
	}
	return errors.Join(append(errs, checkHead(c.Head))...)
}

func checkHead(n int) error {
	if n < 0 {
		return fmt.Errorf("--head: got %d, want 1 or more", n)
	}
	return nil
}

// Run runs the command.
func (c *Info) Run(ctx context.Context, e *tool.Env) (err error) {
	rs, err := open(c.Files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rs.Close()) }()
	d := &damage{to: e.Err}
	found, err := c.rows(ctx, rs, d)
	if err != nil {
		return err
	}
	rows := slices.Collect(maps.Values(found.found))
	slices.SortFunc(rows, func(a, b *infoRow) int { return cmp.Or(infoOrders[c.Sort](a, b), compareRows(a, b)) })
	if found.untold > 0 { // what is not told is not left out in silence
		d.say(fmt.Sprintf("%s of tags beyond the first %d without messages have no rows: the sums have them", units.FormatNumber(found.untold, "gap"), recording.MostLostSeries(rs...)))
	}
	shown := rows
	if c.Head > 0 && c.Head < len(rows) {
		shown = rows[:c.Head]
	}
	if err := c.write(e, rs, found, shown); err != nil {
		return err
	}
	d.missing(partsMissing(rs))
	d.incomplete(Incomplete(rs, recording.Query{}, 0))
	return d.end()
}

// infoKey names a row.
type infoKey struct {
	instance string
	tag      tags.Tag
}

// infoRow is what there is of one tag from one publisher.
type infoRow struct {
	Tag       tags.Tag          `json:"tag"`
	Publisher string            `json:"publisher,omitempty"` // its name
	Instance  string            `json:"instance,omitempty"`
	Messages  uint64            `json:"messages"`
	Bytes     uint64            `json:"bytes"`
	Rate      float64           `json:"rate"` // messages a second, over the whole recording
	First     time.Time         `json:"first,omitzero"`
	Last      time.Time         `json:"last,omitzero"`
	Lost      uint64            `json:"lost"` // without those that are left out on purpose
	Causes    map[string]uint64 `json:"causes,omitempty"`

	losses *recording.Losses // nil: none
}

// mostSteps is how many steps of a clock are named one by one.
const mostSteps = 5

// infoRows are the rows, and what is not told in them.
type infoRows struct {
	found map[infoKey]*infoRow
	named int64 // rows that losses alone may still make

	steps   []string // of the clock of the recorder, the first of them
	stepsOf []uint64 // how many there are, by file

	untold       uint64 // losses beyond
	untoldLosses recording.Losses
}

// of returns the row of a tag of a publisher; nil: there is none, and makes says to make none.
func (rows *infoRows) of(p *bus.Peer, tag tags.Tag, makes bool) *infoRow {
	key := infoKey{instanceOf(p), tag}
	row := rows.found[key]
	if row == nil && makes {
		row = &infoRow{Tag: tag, Publisher: nameOf(p), Instance: key.instance}
		rows.found[key] = row
	}
	return row
}

// gap adds what a Gap names.
func (rows *infoRows) gap(e *recording.Event) {
	row := rows.of(e.Peer, e.Tag, rows.named > 0)
	if row == nil {
		rows.untold++
		rows.untoldLosses[causeOf(e)] += e.Count
		return
	}
	if row.Messages == 0 && row.losses == nil {
		rows.named--
	}
	row.addLoss(e)
}

// step adds a step of the clock that is in a file.
func (rows *infoRows) step(file int, e *recording.Event) {
	if rows.stepsOf[file]++; len(rows.steps) < mostSteps {
		e.Text = sanitize.Cut(e.Text, mostTextBytes)
		rows.steps = append(rows.steps, units.FormatTime(e.Time)+" "+e.String())
	}
}

// rows returns a row for each tag and publisher.
func (c *Info) rows(ctx context.Context, rs recording.Readers, d *damage) (*infoRows, error) {
	rows := &infoRows{found: make(map[infoKey]*infoRow), named: recording.MostLostSeries(rs...), stepsOf: make([]uint64, len(rs))}
	if !c.Exact {
		if err := c.fromTables(rs, d, rows); err != nil {
			return nil, err
		}
	}
	q := recording.Query{Tags: c.Tags, Publisher: c.Publisher, EventsOnly: !c.Exact}
	for n, file := range rs {
		err := each(ctx, recording.Readers{file}, q, d, func(r recording.Record) error {
			switch e := r.Event; {
			case e == nil:
				rows.of(r.Publisher, r.Tag, true).add(1, uint64(len(r.Data)), r.Time, r.Time)
			case e.Kind == recording.Gap:
				rows.gap(e)
			case e.Kind == recording.Stepped:
				rows.step(n, e)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	first, last := span(rs)
	if s := last.Sub(first).Seconds(); s > 0 {
		for _, row := range rows.found {
			row.Rate = float64(row.Messages) / s
		}
	}
	return rows, nil
}

// fromTables adds what the tables of the blocks say.
func (c *Info) fromTables(rs recording.Readers, d *damage, rows *infoRows) error {
	series, err := rs.Series()
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if err := d.add(err); err != nil {
				return err
			}
		}
	} else if err != nil {
		return err
	}
	for i := range series {
		s := &series[i]
		p := s.Publisher
		wanted := c.Publisher == "" || p != nil && (p.Instance == c.Publisher || p.Name == c.Publisher)
		if wanted && (c.Tags.IsEmpty() || c.Tags.Contains(s.Tag)) {
			rows.of(p, s.Tag, true).add(s.Messages, s.Bytes, s.First, s.Last)
		}
	}
	return nil
}

// add adds messages.
func (r *infoRow) add(messages, bytes uint64, first, last time.Time) {
	if r.Messages == 0 || first.Before(r.First) {
		r.First = first
	}
	if r.Messages == 0 || last.After(r.Last) {
		r.Last = last
	}
	r.Messages += messages
	r.Bytes += bytes
}

// addLoss adds what a Gap names.
func (r *infoRow) addLoss(e *recording.Event) {
	if r.losses == nil {
		r.losses = new(recording.Losses)
	}
	r.losses[causeOf(e)] += e.Count
	r.Lost = r.losses.Lost()
}

// nameOf returns what people call a publisher.
func nameOf(p *bus.Peer) string {
	switch {
	case p == nil:
		return ""
	case p.Name == "" && p.Instance != "":
		return bus.ShortInstance(p.Instance)
	default:
		return p.Name
	}
}

// infoOrders are the values of --sort.
var infoOrders = map[string]func(a, b *infoRow) int{
	"tag":       func(a, b *infoRow) int { return cmp.Compare(a.Tag, b.Tag) },
	"publisher": func(a, b *infoRow) int { return cmp.Compare(a.Publisher, b.Publisher) },
	"count":     func(a, b *infoRow) int { return cmp.Compare(b.Messages, a.Messages) },
	"bytes":     func(a, b *infoRow) int { return cmp.Compare(b.Bytes, a.Bytes) },
	"lost":      func(a, b *infoRow) int { return cmp.Compare(b.Lost, a.Lost) },
	"first":     func(a, b *infoRow) int { return a.First.Compare(b.First) },
	"last":      func(a, b *infoRow) int { return a.Last.Compare(b.Last) },
}

func compareRows(a, b *infoRow) int {
	return cmp.Or(cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Publisher, b.Publisher), cmp.Compare(a.Instance, b.Instance))
}
