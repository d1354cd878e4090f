// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/units"
)

// publishAll waits for subscribers and publishes until the recording or ctx ends.
func (r *run) publishAll(ctx context.Context) error {
	if err := r.waitSubscribers(ctx); err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	a := &ahead{
		files: r.files.Readers, query: r.query, passes: r.cmd.Loop.passes(), strict: r.cmd.Strict, mapper: r.mapper,
		schedule: schedule{speed: r.cmd.Speed, maxGap: r.cmd.MaxGap}, damaged: r.damaged,
	}
	a.begin(reading)
	err := r.play(ctx, a)
	stop()
	if a.over() && r.cmd.NoCheck {
		r.found = a.account
	}
	return err
}

// play publishes what is read, each message when it is due.
func (r *run) play(ctx context.Context, a *ahead) error {
	messages, bytes := cli.NewMeter(), cli.NewMeter()
	for {
		b, err := a.wait(ctx)
		if b == nil {
			return err
		}
		if r.started.IsZero() { // the time until the first batch is there is not that of the replay
			r.started = time.Now()
			if !r.cmd.AsFastAsPossible {
				r.metronome = newMetronome(r.nap, r.sayPause)
			}
			r.console.Live(func() string { return r.liveLine(messages, bytes) })
		}
		err = r.playBatch(ctx, b)
		if err == nil {
			err = b.err
		}
		if err != nil {
			return err
		}
		if b.ends {
			r.passes++
		}
		a.free <- b
	}
}

// playBatch publishes the messages of a batch.
func (r *run) playBatch(ctx context.Context, b *batch) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.metronome == nil {
		return r.publish(ctx, b.messages)
	}
	for i := 0; i < len(b.messages); {
		if err := r.metronome.wait(ctx, b.due[i]); err != nil {
			return err
		}
		now, end := r.metronome.now(), i+1
		for end < len(b.messages) && b.due[end] <= now {
			end++
		}
		if err := r.publish(ctx, b.messages[i:end]); err != nil {
			return err
		}
		r.publisher.Flush()
		r.metronome.sent(b.due[i:end])
		r.at.Store(int64(b.due[end-1]))
		i = end
	}
	return nil
}

// publish publishes messages and waits for room. It is the way of all messages.
func (r *run) publish(ctx context.Context, messages []bus.Message) error {
	n, err := r.publisher.PublishBatchContext(ctx, messages)
	if errors.Is(err, bus.ErrMessageTooLarge) {
		return fmt.Errorf("%w: give --max-message-bytes %d", err, len(messages[n].Data))
	}
	return err
}

// waitSubscribers waits for the subscribers that the flags ask for.
//
//   - Errors: the cause of the end of ctx.
func (r *run) waitSubscribers(ctx context.Context) error {
	w := session.Waiting{Subscribers: r.cmd.WaitSubscribers, Tags: r.tags, Live: r.console.Live, SoFar: func(came int) string {
		return fmt.Sprintf("still waiting: %s so far; --tags publishes fewer tags, --wait-subscribers 0 waits for none", units.FormatNumber(came, "subscriber"))
	}}
	if w.Subscribers == 0 {
		return nil
	}
	return w.Wait(ctx, r.console, r.publisher)
}

// drain gives the subscribers what is left, and tells them why it is not all.
//
//   - failure: of publishing; nil if there was none.
func (r *run) drain(ctx context.Context, failure error) error {
	err := session.Drain(ctx, r.hurry, r.publisher, r.cmd.DrainTimeout, failure, func(_ context.Context, timeout time.Duration) {
		r.console.Tell(slog.LevelInfo, "waiting", nil, "waiting up to %v for %s; a signal shortens that to %v, another one gives up",
			timeout, cli.Draining(r.publisher.Stats(), r.env.Bus), session.SignalDrainTimeout)
	})
	if !r.started.IsZero() {
		r.elapsed = time.Since(r.started)
	}
	r.stats = r.publisher.Stats()
	return err
}
