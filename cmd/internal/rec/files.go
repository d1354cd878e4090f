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

// open opens files.
//
//   - Errors: those of recording.OpenAll, as errors of the command line: the status is 2.
func open(files []string) (recording.Readers, error) {
	rs, err := recording.OpenAll(files...)
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return rs, nil
}

// interruptible is a file that cannot be read any more once ctx has ended.
type interruptible struct {
	*stuck.File
	ctx context.Context
}

// ReadAt implements io.ReaderAt.
func (f interruptible) ReadAt(b []byte, offset int64) (int, error) {
	if f.ctx.Err() != nil {
		return 0, context.Cause(f.ctx)
	}
	return f.File.ReadAt(b, offset)
}

// openInterruptible is open for what has no end of its own to ctx.
func openInterruptible(ctx context.Context, names []string) (rs recording.Readers, closeAll func() error, err error) {
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
			return nil, nil, errors.Join(&cli.UsageError{Err: err}, closeAll())
		}
		files = append(files, f)
		beingWritten := flock.IsExclusive(f.File)
		info, err := f.Stat()
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		r, err := recording.NewReader(interruptible{f, ctx}, info.Size(), recording.ReaderConfig{Name: name, BeingWritten: beingWritten})
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
	notWhole bool // more is missing, and was said
	absent   bool // there is no message of what was asked for
}

// add names what an iteration could not read. An error of another kind is returned.
func (d *damage) add(err error) error {
	broken := (*recording.DamageError)(nil)
	if !errors.As(err, &broken) {
		return err
	}
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
func (d *damage) noMessage(rs recording.Readers, q recording.Query) {
	d.absent = true
	d.say(NoMessage(rs, q, "--to"))
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
		if n++; n%1024 == 0 && ctx.Err() != nil {
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
