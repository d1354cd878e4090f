// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/plain"
	"tagbus/recording"
)

// Index is the command line of index.
type Index struct {
	busless

	File  string          `arg:"" help:"File of a recording, whose recorder no longer runs."`
	Out   string          `placeholder:"FILE" help:"Write a new file, and leave the old one as it is. Needed if the beginning is damaged. Default: the file is completed in its place."`
	Codec recording.Codec `default:"none" placeholder:"CODEC" help:"How --out compresses blocks: none, s2 or zstd. Default ${default}."`
}

// Check reports what is wrong with the flags.
func (c *Index) Check() error { return nil }

// Run repairs the file.
func (c *Index) Run(ctx context.Context, e *tool.Env) error {
	if c.Out != "" {
		return c.copy(ctx, e)
	}
	before, err := recording.Repair(c.File, time.Now())
	switch {
	case errors.Is(err, recording.ErrMalformed):
		return fmt.Errorf("%w: --out writes what can be read into a new file", err)
	case isUsage(err):
		return &cli.UsageError{Err: err}
	case err != nil:
		return err
	}
	return c.say(e, before, before.Messages, before.Events)
}

// isUsage reports whether an error is one of the file that was named.
func isUsage(err error) bool {
	return errors.Is(err, recording.ErrWhole) || errors.Is(err, recording.ErrInUse) ||
		errors.Is(err, recording.ErrNotRecording) || errors.Is(err, recording.ErrVersion) ||
		errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// copy writes what can be read into a new file, which is the same part of the same
// recording.
func (c *Index) copy(ctx context.Context, e *tool.Env) (err error) {
	rs, err := open([]string{c.File})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rs.Close()) }()
	i := rs[0].Info()
	if i.Indexed {
		return &cli.UsageError{Err: fmt.Errorf("%s: %w", plain.Text(c.File), recording.ErrWhole)}
	}
	d := &damage{to: e.Err}
	out, err := create(c.Out, i.Header, c.Codec)
	if err != nil {
		return err
	}
	err = each(ctx, rs, recording.Query{}, d, out.append)
	why := i.WhyCut()
	if d.blocks > 0 {
		why += fmt.Sprintf("; %s could not be read", units.FormatNumber(d.blocks, "block"))
	}
	if err == nil {
		err = out.append(recording.Record{Event: &recording.Event{Kind: recording.Stopped, Time: out.last, Failed: true, Text: why}})
	}
	if err := out.close(err); err != nil {
		return err
	}
	if err := c.say(e, i, out.messages, out.events-1); err != nil {
		return err
	}
	return d.end()
}

// say says what was lost and what is there.
func (c *Index) say(e *tool.Env, before recording.Info, messages, events uint64) error {
	file := c.File
	if c.Out != "" {
		file = c.Out
	}
	if e.JSON {
		line, err := cli.JSONLine(map[string]any{
			"file": file, "messages": messages, "events": events,
			"cut_bytes": before.Cut, "skipped_bytes": before.Skipped, "lost": before.WhyCut(),
		})
		if err == nil {
			_, err = fmt.Fprint(e.Out, line)
		}
		return err
	}
	_, err := fmt.Fprintln(e.Out, plain.Linef("%s: index of %s and %s written; %s", file,
		units.FormatNumber(messages, "message"), units.FormatNumber(events, "event"), before.WhyCut()))
	return err
}
