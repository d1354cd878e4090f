// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"context"
	"errors"
	"fmt"

	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/recording"
	"tagbus/tags"
)

// Info is the command line of info.
type Info struct {
	tool.NoBus

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
	return errors.Join(append(errs, tool.CheckHead(c.Head))...)
}

// Run runs the command.
func (c *Info) Run(ctx context.Context, e *tool.Env) (err error) {
	rs, closeAll, err := Open(ctx, c.Files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	d := &damage{to: e.Err}
	found, err := c.rows(ctx, rs, d)
	if err != nil {
		return err
	}
	shown := tool.First(found.sorted(c.Sort), c.Head)
	if found.untold > 0 { // what is not told is not left out in silence
		d.say(fmt.Sprintf("%s of tags beyond the first %d without messages have no rows: the sums have them", units.FormatNumber(found.untold, "gap"), recording.MostLostSeries(rs...)))
	}
	if err := c.write(ctx, e, rs, found, shown); err != nil {
		return err
	}
	d.missing(partsMissing(rs))
	d.incomplete(Incomplete(rs, recording.Query{}, 0))
	if q := (recording.Query{Tags: c.Tags, Publisher: c.Publisher}); found.count == 0 && found.untold == 0 && (!q.Tags.IsEmpty() || q.Publisher != "") {
		if err := d.noMessage(ctx, rs, q); err != nil {
			return err
		}
	}
	return d.end()
}

// rows returns a row for each tag and publisher.
func (c *Info) rows(ctx context.Context, rs recording.Readers, d *damage) (*infoRows, error) {
	rows := newInfoRows(recording.MostLostSeries(rs...), len(rs))
	if !c.Exact {
		if err := c.fromTables(ctx, rs, d, rows); err != nil {
			return nil, err
		}
	}
	q := recording.Query{Tags: c.Tags, Publisher: c.Publisher, EventsOnly: !c.Exact}
	for n, file := range rs {
		err := each(ctx, recording.Readers{file}, q, d, func(r recording.Record) error {
			switch e := r.Event; {
			case e == nil:
				at := r.Time.UnixNano()
				rows.of(r.Publisher, r.Tag, true).add(1, uint64(len(r.Data)), at, at)
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
	rows.recorded, rows.holes = rs.Recorded()
	if ctx.Err() != nil { // and they are wrong
		return nil, context.Cause(ctx)
	}
	return rows, nil
}

// fromTables adds what the tables of the blocks say.
func (c *Info) fromTables(ctx context.Context, rs recording.Readers, d *damage, rows *infoRows) error {
	n := 0
	for s, err := range rs.BlockSeries() {
		if n++; (n%1024 == 0 || err != nil) && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			if err = d.add(err); err != nil {
				return err
			}
			continue
		}
		p := s.Publisher
		wanted := c.Publisher == "" || p != nil && (p.Instance == c.Publisher || p.Name == c.Publisher)
		if wanted && (c.Tags.IsEmpty() || c.Tags.Contains(s.Tag)) {
			rows.of(p, s.Tag, true).add(s.Messages, s.Bytes, s.First.UnixNano(), s.Last.UnixNano())
		}
	}
	return nil
}
