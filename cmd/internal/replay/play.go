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
	"tagbus/cmd/internal/units"
)

const (
	// waitingInterval is the time between two lines about a wait.
	waitingInterval = 5 * time.Second

	// patience is how long subscribers may take at the end before that is said.
	patience = time.Second

	// signalDrainTimeout bounds the end after a signal.
	signalDrainTimeout = 5 * time.Second
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
		schedule: schedule{speed: r.cmd.Speed, maxGap: r.cmd.MaxGap}, damaged: func(error) {},
	}
	if r.cmd.NoCheck {
		a.damaged = r.damaged
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

// waitSubscribers waits for the subscribers that the flags ask for, and says now and then
// how many there are.
//
//   - Errors: the cause of the end of ctx.
func (r *run) waitSubscribers(ctx context.Context) error {
	n := r.cmd.WaitSubscribers
	if n == 0 {
		return nil
	}
	what := "1 subscriber that wants all of the tags"
	if n > 1 {
		what = fmt.Sprintf("%d subscribers that together want all of the tags", n)
	}
	count := func() int { return len(r.publisher.Stats().Subscribers) }
	r.console.Tell(slog.LevelInfo, "waiting", nil, "waiting for %s", what)
	since := time.Now()
	r.console.Live(func() string { return cli.Waiting(since, fmt.Sprintf("%s, %d so far", what, count())) })
	done := make(chan error, 1)
	go func() { done <- r.publisher.WaitSubscribers(ctx, n, r.tags) }()
	tick := time.NewTicker(waitingInterval)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		case <-tick.C:
			came := count()
			r.console.Tell(slog.LevelInfo, "waiting", []slog.Attr{slog.Int("count", came)},
				"still waiting: %s so far; --tags publishes fewer tags, --wait-subscribers 0 waits for none", units.FormatNumber(came, "subscriber"))
		}
	}
}

// drain gives the subscribers what is left, and tells them why it is not all.
//
//   - failure: of publishing; nil if there was none.
func (r *run) drain(ctx context.Context, failure error) error {
	timeout := r.cmd.DrainTimeout
	if ctx.Err() != nil {
		timeout = min(timeout, signalDrainTimeout)
	}
	draining, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	defer context.AfterFunc(r.hurry, cancel)()
	defer time.AfterFunc(patience, func() {
		r.console.Tell(slog.LevelInfo, "waiting", nil, "waiting up to %v for %s; a signal shortens that to %v, another one gives up",
			timeout, cli.Draining(r.publisher.Stats(), r.env.Bus), signalDrainTimeout)
	}).Stop()
	if ctx.Err() == nil { // a signal now shortens the wait
		stop := context.AfterFunc(ctx, func() { time.AfterFunc(signalDrainTimeout, cancel) })
		defer stop()
	}
	err := r.publisher.DrainFailed(draining, failure)
	if err != nil { // what is lost is counted when the connections are closed
		err = errors.Join(err, r.publisher.Close())
	}
	if !r.started.IsZero() {
		r.elapsed = time.Since(r.started)
	}
	r.stats = r.publisher.Stats()
	return err
}
