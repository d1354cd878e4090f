// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/units"
	"tagbus/recording"
)

// stopped returns the last record of the recording.
func (r *run) stopped() recording.Event {
	e := recording.Event{Kind: recording.Stopped, Time: time.Now(), Text: r.ending.Reason()}
	if err := errors.Join(r.ending.Err(), r.presence.Refusal("publisher"), r.presence.Withheld("publisher"), r.silent); err != nil {
		e.Failed, e.Text = true, cli.Text(err)
	}
	return e
}

const (
	// diskGrace is how long the disk may take nothing, after the end, of what has
	// arrived.
	diskGrace = 30 * time.Second

	// patience is how long the file may take to open before that is said.
	patience = time.Second
)

// finish waits until what has arrived is written, while the disk takes some of it and no
// signal asks for haste.
func (r *run) finish(ctx context.Context) error {
	why := r.ending.AwaitOutput(ctx, r.env.Hurry, r.wrote, &r.writer.taken, r.writer.syncing.Load, diskGrace, func() {
		r.console.Tell(slog.LevelInfo, "waiting", nil, "waiting for %s to take what has arrived: until it has taken nothing for %v, or another signal gives up", r.cmd.File, diskGrace)
	})
	r.notWritten = r.unwritten()
	switch {
	case why != "": // the goroutine that waits for the disk stays behind
		return fmt.Errorf("%s: %s: %s not written", r.cmd.File, why, units.FormatNumber(r.notWritten, "message"))
	case r.writeErr != nil && errors.Is(r.ending.Err(), r.writeErr):
		return nil // known
	}
	return r.writeErr
}

// unwritten returns how many messages have arrived and are not known to be in the file.
func (r *run) unwritten() uint64 {
	n := r.intake.messages.Load()
	return n - min(n, r.writer.messages.Load())
}
