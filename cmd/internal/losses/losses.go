// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package losses is the command tagbus losses, which shows what was lost, where, and why.
//
// It shows what publishers and receivers have counted, or what is in the files of
// --loss-file.
package losses

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Command is the command line of losses.
type Command struct {
	Tags     tags.Set   `arg:"" optional:"" help:"Only what was lost of these tags, by tag."`
	PerTag   bool       `help:"Show what was lost of each tag: of each subscriber the 64 that lost most, and the sums of up to 1,024 tags of each publisher."`
	Name     string     `placeholder:"GLOB" help:"Only what publishers or subscribers with such a name have lost, for example 'felix-*'."`
	Since    Since      `placeholder:"TIME" help:"Only what was lost since a time: 10m (ago), 15:04 (today), 2026-11-23 15:04, or RFC 3339. Of a count that has grown since then all is shown, except from files."`
	LossFile []string   `placeholder:"FILE" sep:"none" help:"Read files that publisher and subscriber --loss-file have written, and do not ask the bus. May be given several times."`
	Sort     string     `default:"count" placeholder:"KEY" help:"Order: count (the most first), last (the newest first), tag, publisher or subscriber. Default ${default}."`
	Head     int        `short:"n" placeholder:"N" help:"Only the first N."`
	Watch    tool.Watch `placeholder:"[TIME]" help:"Look again and again, each TIME. Default 2s."`
}

// Check reports what is wrong with the flags.
func (c *Command) Check() error {
	var errs []error
	if _, err := path.Match(c.Name, ""); err != nil {
		errs = append(errs, fmt.Errorf("--name: got %q, want a name with * and ?, each [ with its ]", c.Name))
	}
	if orders[c.Sort] == nil {
		errs = append(errs, fmt.Errorf("--sort: got %q, want count, last, tag, publisher or subscriber", c.Sort))
	}
	errs = append(errs, tool.CheckHead(c.Head))
	if slices.Contains(c.LossFile, "") {
		errs = append(errs, errors.New("--loss-file: got no file, want its path"))
	}
	return errors.Join(errs...)
}

// NeedsBus implements tool.Busless.
func (c *Command) NeedsBus() bool { return len(c.LossFile) == 0 }

// Run runs the command.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	r := &reporter{Command: c, env: e}
	look := func(context.Context) (found, error) { return r.readFiles() }
	if c.NeedsBus() {
		w, err := e.Watcher()
		if err != nil {
			return err
		}
		look = func(ctx context.Context) (found, error) { return r.ask(ctx, w) }
	}
	return e.Repeat(ctx, c.Watch, func(ctx context.Context, out io.Writer) error {
		f, err := look(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		return r.show(out, f)
	})
}

// reporter is one run of the command.
type reporter struct {
	*Command
	env *tool.Env
}

// found is what one look has found.
type found struct {
	rows       []Row
	notes      []string // what the rows do not say
	unanswered error    // of tool.Unanswered, or of files with lines that are no records
	older      int      // records of files that are of before --since
	where      string   // where there are none, if there are none
}

func (f *found) note(format string, args ...any) {
	f.notes = append(f.notes, sanitize.Linef(format, args...))
}

// perTag reports whether rows are of tags.
func (c *Command) perTag() bool { return c.PerTag || !c.Tags.IsEmpty() }

// show writes a look.
func (r *reporter) show(out io.Writer, f found) error {
	notes := r.env.Err
	if r.Watch > 0 && !r.env.JSON {
		notes = out
	}
	all := len(f.rows)
	rows := r.chosen(f.rows, time.Now())
	shown := tool.First(rows, r.Head)
	if err := write(out, r.env.JSON, time.Now(), shown); err != nil {
		return err
	}
	switch gone, back := unconfirmedIn(rows); {
	case gone > 0 && !r.NeedsBus():
		f.note("%s unconfirmed: lost or received, which their publishers did not know at their end", units.FormatNumber(gone, "message"))
	case gone > 0 && back > 0:
		f.note("%s unconfirmed: lost or received. Subscribers of %s are connected again and have not said it yet, the others have gone, and say it if they come back",
			units.FormatNumber(gone+back, "message"), units.FormatCount(back))
	case back > 0:
		f.note("%s unconfirmed: lost or received, their subscribers are connected again and have not said it yet", units.FormatNumber(back, "message"))
	case gone > 0:
		f.note("%s unconfirmed: lost or received, their subscribers have gone without saying it, and say it if they come back", units.FormatNumber(gone, "message"))
	}
	switch {
	case all == 0 && f.unanswered != nil:
		f.note("no losses are known, which is not all: %s", f.where)
	case all == 0 && f.older > 0:
		f.note("no losses since then: %s", f.where)
	case all == 0:
		f.note("no losses: %s", f.where)
	case len(rows) == 0:
		f.note("none of %d losses is what was asked for", all)
	case len(shown) < len(rows):
		f.note("%d of %d (--head)", len(shown), len(rows))
	}
	var err error
	if len(f.notes) > 0 {
		_, err = io.WriteString(notes, strings.Join(f.notes, "\n")+"\n")
	}
	if err == nil && r.Watch == 0 {
		err = f.unanswered
	}
	return err
}

// unconfirmedIn returns how many messages of rows are unconfirmed: of subscribers that have gone, and
// of those that are connected again.
func unconfirmedIn(rows []Row) (gone, back uint64) {
	for i := range rows {
		switch {
		case rows[i].Cause != Unconfirmed:
		case rows[i].back:
			back += rows[i].Messages
		default:
			gone += rows[i].Messages
		}
	}
	return gone, back
}
