// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
	"tagbus/recording"
)

// output is a recording that is being written. It is there only if all of it is.
type output struct {
	file   *stuck.File
	writer *recording.Writer

	messages, events uint64
	last             time.Time // of a record
}

// create makes a file, which must not exist.
//
//   - Errors: a *cli.UsageError if it exists; those of making it.
func create(path string, h recording.Header, codec recording.Codec) (*output, error) {
	f, err := createFile(path)
	if err != nil {
		return nil, err
	}
	o := &output{file: f}
	if o.writer, err = recording.NewWriter(f, h, recording.Config{Codec: codec}); err != nil {
		return nil, o.close(err)
	}
	return o, nil
}

// append appends a record.
//
//   - Errors: those of the file.
func (o *output) append(r recording.Record) error {
	if r.Event != nil {
		o.events++
		o.last = later(o.last, r.Event.Time)
		return o.writer.AppendEvent(*r.Event)
	}
	o.messages++
	o.last = later(o.last, r.Time)
	return o.writer.Append(r.Time, &r.Message.Message)
}

// event appends an event.
func (o *output) event(e *recording.Event) error { return o.append(recording.Record{Event: e}) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// close completes the file, or removes it after an error, which it returns.
func (o *output) close(err error) error {
	if err == nil {
		err = o.writer.Close()
	}
	return cli.CloseNew(o.file, err)
}

// createFile makes the file of --out, which must not exist.
//
//   - Errors: a *cli.UsageError if it exists; those of making it.
func createFile(path string) (*stuck.File, error) {
	f, err := stuck.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, &cli.UsageError{Err: fmt.Errorf("--out: %s exists: give another name, or remove it first", sanitize.Text(path))}
	}
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	return f, nil
}
