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
	if err := errors.Join(r.ending.Err(), r.presence.Refusal("publisher"), r.silent); err != nil {
		e.Failed, e.Text = true, cli.Text(err)
	}
	return e
}

const (
	// diskGrace is how long the disk may take nothing, after the end, of what has
	// arrived.
	diskGrace = 30 * time.Second

	// patience is how long it may take before that is said.
	patience = time.Second
)

// finish waits until what has arrived is written, while the disk takes some of it and no
// signal asks for haste.
func (r *run) finish(ctx context.Context) error {
	haste := ctx.Done()
	if r.ending.Reason() == "signal" && r.env.Hurry != nil {
		haste = r.env.Hurry.Done() // that was the first one
	}
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	slow := time.NewTimer(patience)
	defer slow.Stop()
	taken, since := r.writer.taken.Load(), time.Now()
	for {
		select {
		case <-r.wrote:
			r.notWritten = r.unwritten()
			if r.writeErr != nil && errors.Is(r.ending.Err(), r.writeErr) {
				return nil // known
			}
			return r.writeErr
		case <-haste:
			return r.giveUp("a signal ended the wait")
		case <-slow.C:
			r.console.Tell(slog.LevelInfo, "waiting", nil, "waiting for %s to take what has arrived: until it has taken nothing for %v, or another signal gives up", r.cmd.File, diskGrace)
		case <-tick.C:
		}
		if n := r.writer.taken.Load(); n != taken || r.writer.syncing.Load() {
			taken, since = n, time.Now()
		} else if time.Since(since) >= diskGrace {
			return r.giveUp(fmt.Sprintf("nothing was taken for %v", diskGrace))
		}
	}
}

// giveUp reports a disk that has not taken what has arrived. The goroutine that waits for it
// stays behind.
func (r *run) giveUp(why string) error {
	r.notWritten = r.unwritten()
	return fmt.Errorf("%s: %s: %s not written", r.cmd.File, why, units.FormatNumber(r.notWritten, "message"))
}

// unwritten returns how many messages have arrived and are not known to be in the file.
func (r *run) unwritten() uint64 {
	n := r.intake.messages.Load()
	return n - min(n, r.writer.messages.Load())
}
