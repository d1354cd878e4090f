// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"tagbus/cmd/internal/units"
)

// outputGrace is how long the output may take nothing, after the end, of what
// has arrived.
const outputGrace = 5 * time.Second

// finishOutput waits until what has arrived is written, while the output takes
// some of it and no signal asks for haste.
func (r *run) finishOutput(ctx context.Context) error {
	out := r.receiver.output
	var err error
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-r.received
		err = out.close()
	}()
	why := r.ending.AwaitOutput(ctx, r.hurry, closed, &out.bytes, nil, outputGrace, func() {
		r.console.Tell(slog.LevelInfo, "waiting", nil, "waiting for output %s to take what has arrived: until it has taken nothing for %v, or another signal gives up", r.flags.outputName(), outputGrace)
	})
	if why != "" {
		return r.giveUp(why)
	}
	return r.finished(err)
}

// giveUp reports an output that has not taken what has arrived. The goroutine
// that waits for it stays behind.
func (r *run) giveUp(why string) error {
	r.stuck = true
	r.notWritten = r.unwritten()
	return fmt.Errorf("output %s: %s: %s not written", r.flags.outputName(), why, units.FormatNumber(r.notWritten, "message"))
}

// finished returns what is to be said about an output that was closed with err.
func (r *run) finished(err error) error {
	out := r.receiver.output
	switch {
	case errors.Is(err, syscall.EPIPE):
		return nil // the reader has closed: it wants no more
	case err != nil:
		r.notWritten = r.unwritten()
		if r.ending.Err() != nil && errors.Is(err, r.ending.Err()) {
			return nil // known
		}
		return err
	}
	if n := out.misfits(); n > 0 {
		r.console.Warn("%d of %d messages were not %d bytes long: written as they are", n, r.receiver.messages, r.flags.Record.Bytes)
	}
	return nil
}

// unwritten returns how many messages have arrived and are not known to be
// written: of a buffer that the output has taken in part, all count.
func (r *run) unwritten() uint64 {
	arrived, written := r.subscriber.Stats().Messages, r.receiver.output.written.Load()
	if limit := r.receiver.limit; limit != 0 {
		arrived = min(arrived, limit)
	}
	return arrived - min(arrived, written)
}
