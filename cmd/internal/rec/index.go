// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/flock"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
	"tagbus/recording"
)

// Index is the command line of index.
type Index struct {
	tool.NoBus

	File string `arg:"" help:"File of a recording, whose recorder no longer runs."`
	Out  string `placeholder:"FILE" help:"Write a new file, which must not exist, and leave the old one as it is. Default: the file is completed in its place."`
}

// Run repairs the file.
func (c *Index) Run(ctx context.Context, e *tool.Env) (err error) {
	flag, lock := os.O_RDWR, flock.Exclusive
	if c.Out != "" {
		flag, lock = os.O_RDONLY, flock.Shared // others may read it, too
	}
	f, err := stuck.OpenFile(c.File, flag, 0)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !lock(f.File, stuck.On(c.File)) {
		return &cli.UsageError{Err: fmt.Errorf("%s is being written now: end its recorder first, which writes the index", sanitize.Text(c.File))}
	}
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := recording.NewReader(f, stat.Size(), recording.ReaderConfig{Name: c.File, Context: ctx})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	size, tail := r.Repair()
	if tail == nil {
		why := "has its index: there is nothing to repair"
		if info := r.Info(); !info.Indexed {
			why = info.Unfinished() + ": remove it"
		}
		return &cli.UsageError{Err: fmt.Errorf("%s %s", sanitize.Text(c.File), why)}
	}
	if c.Out == "" {
		err = cli.FileError(c.File, complete(f, stat.Size(), size, tail))
	} else {
		err = c.copy(ctx, f, size, tail)
	}
	if err != nil {
		return err
	}
	return c.say(e, r.Info())
}

// missing returns what the file lacks now that it has an index; "": nothing.
func (c *Index) missing(before *recording.Info) (string, error) {
	if !before.IndexDamaged {
		return whyCut(before), nil
	}
	r, err := recording.Open(cmp.Or(c.Out, c.File))
	if err != nil {
		return "", err
	}
	after := r.Info()
	return whyCut(&after), r.Close()
}

// repairable is a file that is repaired in its place, as *stuck.File.
type repairable interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// complete writes the end of a file in its place. If it does not get that far, the file can be read by
// a walk as before, and is no longer than it was.
//
//   - before: bytes of the file.
//   - size: where the end begins.
func complete(f repairable, before, size int64, tail []byte) error {
	_, err := f.WriteAt(tail, size) // first: what is said of a damaged index holds as long as a part of it is there
	if err != nil {
		return errors.Join(err, f.Truncate(before))
	}
	if err := f.Truncate(size + int64(len(tail))); err != nil {
		return err
	}
	return f.Sync()
}

// copy writes a new file with another end.
func (c *Index) copy(ctx context.Context, f *stuck.File, size int64, tail []byte) error {
	out, err := createFile(c.Out)
	if err != nil {
		return err
	}
	const piece = 4 << 20
	for at := int64(0); at < size && err == nil; at += piece {
		if _, err = io.Copy(out, io.NewSectionReader(f, at, min(piece, size-at))); err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	if err == nil {
		_, err = out.Write(tail)
	}
	if err == nil {
		err = out.Sync()
	}
	return cli.CloseNew(out, err)
}

// say says what was lost and what is there.
func (c *Index) say(e *tool.Env, before recording.Info) error {
	file := cmp.Or(c.Out, c.File)
	lost, err := c.missing(&before)
	if err != nil {
		return err
	}
	if e.JSON {
		return cli.WriteJSON(e.Out, map[string]any{
			"file": file, "blocks": before.Blocks, "messages": before.Messages, "events": before.Events,
			"cut_bytes": before.Cut, "skipped_bytes": before.Skipped, "lost": lost,
		})
	}
	if lost == "" {
		lost = "the damaged index is replaced, and nothing is missing"
	}
	_, err = fmt.Fprintln(e.Out, sanitize.Linef("%s: has an index of %s, with %s and %s; %s", file, units.FormatNumber(before.Blocks, "block"),
		units.FormatNumber(before.Messages, "message"), units.FormatNumber(before.Events, "event"), lost))
	return err
}

// whyCut returns what is missing in a file that was not closed, and "" for one that was.
func whyCut(i *recording.Info) string {
	why := i.Unfinished()
	if why == "" {
		return ""
	}
	why = "it " + why
	if i.Skipped > 0 && !i.Repaired {
		why += fmt.Sprintf("; %s between the blocks cannot be read", units.FormatBytes(float64(i.Skipped)))
	}
	return why
}
