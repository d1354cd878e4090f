// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
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

// maxDamage is how many damaged blocks are named one by one.
const maxDamage = 20

// damage counts what could not be read, and names it on standard error.
type damage struct {
	to     io.Writer
	blocks uint64
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

// end returns what the command returns if all else went well.
func (d *damage) end() error {
	if d.blocks > maxDamage {
		fmt.Fprintf(d.to, "%d more blocks cannot be read\n", d.blocks-maxDamage)
	}
	if d.blocks > 0 {
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
