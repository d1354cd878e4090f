// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// What the command waits for before it publishes: its input, and subscribers.

// openSource opens the source; false means that it could not, or that ctx ended
// first: a FIFO without a writer never opens, and the header of a capture may never come.
func (r *run) openSource(ctx context.Context) (opened bool, err error) {
	done := stuck.Go(func() (source, error) { return newSource(r.flags, r.stdin, r.console.Say) })
	select {
	case got := <-done:
		r.source = got.Value
		return got.Err == nil, got.Err
	case <-ctx.Done():
		return false, errors.Join(r.end(context.Cause(ctx)), r.inputAway())
	}
}

// inputAway returns an error if the input is waited for because its file system does not answer:
// what is still in it is not published.
func (r *run) inputAway() error {
	if r.flags.Emulate != nil || !stuck.IsLate(r.flags.Input) {
		return nil
	}
	return fmt.Errorf("--input %s: its file system does not answer: what is left in it is not published", r.flags.Input)
}

// waitSubscribers waits for the subscribers that the flags ask for, and says
// now and then how many there are. It returns the cause of the end of ctx.
func (r *run) waitSubscribers(ctx context.Context) error {
	n := r.flags.WaitSubscribers
	what := "1 subscriber that wants all of the tags"
	if n > 1 {
		what = fmt.Sprintf("%d subscribers that together want all of the tags", n)
	}
	count := func() int { return len(r.producer.Stats().Subscribers) }
	r.console.Tell(slog.LevelInfo, "waiting", nil, "waiting for %s", what)
	r.liveWaiting(func() string { return fmt.Sprintf("%s, %d so far", what, count()) })
	done := make(chan error, 1)
	go func() { done <- r.producer.WaitSubscribers(ctx, n, r.flags.Tags) }()
	var over <-chan time.Time
	if r.flags.WaitTime > 0 {
		timer := time.NewTimer(r.flags.WaitTime)
		defer timer.Stop()
		over = timer.C
	}
	tick := time.NewTicker(waitingInterval)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		case <-over:
			return r.deserted(what, count())
		case <-tick.C:
			came := count()
			r.console.Tell(slog.LevelInfo, "waiting", []slog.Attr{slog.Int("count", came)}, "%s", soFar(units.FormatNumber(came, "subscriber"), came == 0, r.where()))
		}
	}
}

// deserted says what to do about subscribers that do not come.
func (r *run) deserted(what string, came int) error {
	text := fmt.Sprintf("nothing is published: %s did not come in %v (--wait-time), %d did", what, r.flags.WaitTime, came)
	if refused := r.refused.Load(); refused > 0 {
		text += fmt.Sprintf(", and %s refused, for the reasons above", units.FormatNumber(refused, "time"))
	}
	return fmt.Errorf("%s: start one, such as tagbus sub --bus %s %v, or publish all the same with --wait 0", text, sanitize.Text(r.flags.Bus), r.flags.Tags)
}
