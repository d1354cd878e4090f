// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/flock"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
	"tagbus/recording"
)

// Open opens files, which cannot be read any more once ctx has ended.
//
//   - Errors: those of recording.Open, as errors of the command line: the status is 2; the cause of the end of ctx.
func Open(ctx context.Context, names []string) (rs recording.Readers, closeAll func() error, err error) {
	var files []*stuck.File
	closeAll = func() error {
		var errs []error
		for _, f := range files {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	for _, name := range names {
		f, err := stuck.Open(name)
		if err != nil {
			return nil, nil, errors.Join(&cli.UsageError{Err: fmt.Errorf("recording: %w", err)}, closeAll())
		}
		files = append(files, f)
		beingWritten := flock.IsExclusive(f.File, stuck.On(name)) // before its size: an end that comes meanwhile is seen
		info, err := f.Stat()
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("recording: %w", err), closeAll())
		}
		r, err := recording.NewReader(f, info.Size(), recording.ReaderConfig{Name: name, BeingWritten: beingWritten, Context: ctx})
		if ctx.Err() != nil {
			return nil, nil, errors.Join(context.Cause(ctx), closeAll())
		}
		if err != nil {
			return nil, nil, errors.Join(&cli.UsageError{Err: err}, closeAll())
		}
		rs = append(rs, r)
	}
	return rs, closeAll, nil
}

// maxDamage is how many damaged blocks are named one by one.
const maxDamage = 20

// damage counts what could not be read, and names it on standard error.
type damage struct {
	to       io.Writer
	blocks   uint64
	known    map[blockOf]struct{} // those: each counts once, however often it is read
	notWhole bool                 // more is missing, and was said
	absent   bool                 // there is no message of what was asked for
}

// blockOf is a block of a file.
type blockOf struct {
	file   string
	number int
}

// add names what an iteration could not read. An error of another kind is returned.
func (d *damage) add(err error) error {
	broken := (*recording.DamageError)(nil)
	if !errors.As(err, &broken) {
		return err
	}
	block := blockOf{broken.File, broken.Block}
	if _, known := d.known[block]; known {
		return nil
	}
	if d.known == nil {
		d.known = make(map[blockOf]struct{})
	}
	d.known[block] = struct{}{}
	if d.blocks++; d.blocks <= maxDamage {
		fmt.Fprintf(d.to, "%s: it is passed over\n", cli.Text(err))
	}
	return nil
}

// say says something on standard error.
func (d *damage) say(text string) { fmt.Fprintln(d.to, sanitize.Line(text)) }

// missing says what is missing beside the blocks.
func (d *damage) missing(why []string) {
	for _, text := range why {
		d.say("not whole: " + text)
	}
	d.incomplete(why)
}

// incomplete notes what is missing, which is said elsewhere.
func (d *damage) incomplete(why []string) { d.notWhole = d.notWhole || len(why) > 0 }

// noMessage says what there is instead of the messages that flags ask for.
//
//   - Errors: the cause of the end of ctx.
func (d *damage) noMessage(ctx context.Context, rs recording.Readers, q recording.Query) error {
	text, err := NoMessage(ctx, rs, q, "--to")
	if err != nil {
		return err
	}
	d.absent = true
	d.say(text)
	return nil
}

// end returns what the command returns if all else went well. Of files that are not whole, or
// have no message of what was asked for, the status is 1, whatever the command and the reason.
func (d *damage) end() error {
	if d.blocks > maxDamage {
		fmt.Fprintf(d.to, "%d more blocks cannot be read\n", d.blocks-maxDamage)
	}
	if d.blocks > 0 || d.notWhole || d.absent {
		return &tool.StatusError{Code: cli.ExitFailed}
	}
	return nil
}

// each calls do with each record that q selects. What cannot be read is named.
//
//   - Errors: those of do, except errStop; those of reading; the cause of the end of ctx.
func each(ctx context.Context, rs recording.Readers, q recording.Query, d *damage, do func(recording.Record) error) error {
	n := 0
	for r, err := range rs.Records(q) {
		if n++; (n%1024 == 0 || err != nil) && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			err = d.add(err)
		} else {
			err = do(r)
		}
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errStop ends a loop of each.
var errStop = errors.New("stop")
