// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"tagbus/cmd/internal/cli"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// outputBytes is how much is written at once.
const outputBytes = 1 << 20

// output is where the file goes.
type output struct {
	*bufio.Writer
	file    *stuck.File // nil: standard output
	created bool        // and is to be removed if it remains incomplete
	to      counter
}

// counter counts bytes.
type counter struct {
	io.Writer
	bytes int64
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes += int64(n)
	return n, err
}

// create opens the file of --out. One that is there is refused, unless it is a pipe or a
// device.
//
//   - inputs: which must not be overwritten.
//   - Errors: a *cli.UsageError for a file that is there or an input; those of making it.
func (c *Command) create(stdout io.Writer) (*output, error) {
	o := &output{}
	if c.Out == "-" {
		if cli.IsTerminal(stdout) && (c.format != formatCSV || c.Data != Hex) {
			return nil, &cli.UsageError{Err: ErrTerminal}
		}
		o.to.Writer = stdout
		o.Writer = bufio.NewWriterSize(&o.to, outputBytes)
		return o, nil
	}
	there, err := stuck.Stat(c.Out)
	regular := err != nil || there.Mode().IsRegular()
	for _, in := range c.Files {
		if i, err := stuck.Stat(in); err == nil && there != nil && os.SameFile(i, there) {
			return nil, &cli.UsageError{Err: fmt.Errorf("--out: %s: %w", sanitize.Text(c.Out), ErrIsInput)}
		}
	}
	flags := os.O_WRONLY
	if regular {
		flags |= os.O_CREATE | os.O_EXCL
	}
	o.file, err = stuck.OpenFile(c.Out, flags, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, &cli.UsageError{Err: fmt.Errorf("--out: %w: give another name, or remove it first", err)}
	case err != nil:
		return nil, fmt.Errorf("--out: %w", err)
	}
	o.created = regular
	o.to.Writer = o.file
	o.Writer = bufio.NewWriterSize(&o.to, outputBytes)
	return o, nil
}

// close completes the file. After an error, which it returns, it removes it.
func (o *output) close(err error) error {
	if err == nil {
		err = o.Flush()
	}
	switch {
	case o.file == nil:
		return err
	case o.created:
		return cli.CloseNew(o.file, err)
	}
	return errors.Join(err, o.file.Close())
}
