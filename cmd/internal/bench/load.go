// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bench

import (
	"context"
	"errors"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/pace"
	"tagbus/cmd/internal/units"
)

const (
	// reportInterval is the time between two questions whether all is there.
	reportInterval = 2 * time.Millisecond

	// checkEvery is the number of messages after which publishing looks at the clock.
	checkEvery = 64
)

// load publishes for as long as a round lasts, and waits until all has arrived.
func (r *runner) load(ctx context.Context, got *round) error {
	before, began := cpuTime(), time.Now()
	if err := r.publish(ctx, began.Add(r.cmd.Round), got); err != nil {
		return err
	}
	r.publisher.Flush()
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	progress, since := uint64(0), time.Now()
	for {
		a, err := r.ask(ctx, reportOp)
		if err != nil {
			return err
		}
		got.Seconds = time.Since(began).Seconds()
		if a.Messages+a.Lost >= got.Messages || time.Since(since) >= answerTime {
			got.answered(a, (cpuTime() - before).Seconds())
			return nil
		}
		if a.Messages > progress {
			progress, since = a.Messages, time.Now()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// publish publishes until a time, as the flags say, and counts.
func (r *runner) publish(ctx context.Context, until time.Time, got *round) error {
	over := errors.New("round is over")
	ctx, cancel := context.WithDeadlineCause(ctx, until, over)
	defer cancel()
	var pacer *pace.Pacer
	if r.cmd.Rate > 0 {
		pacer = pace.New(r.cmd.Rate / units.Rate(r.cmd.Burst))
	}
	for n := 0; ; n++ {
		var err error
		switch {
		case pacer != nil && n%r.cmd.Burst == 0:
			err = pacer.Wait(ctx)
		case n%checkEvery == 0 && ctx.Err() != nil:
			err = context.Cause(ctx)
		}
		if err == nil {
			err = r.one(ctx, got)
		}
		if errors.Is(err, over) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// one publishes the next message.
func (r *runner) one(ctx context.Context, got *round) error {
	at := r.next
	r.next = (r.next + 1) % len(r.counters)
	data := r.generator.Next(r.counters[at] + 1)
	tag := r.cmd.tag(dataTag + at)
	err := r.publisher.Publish(tag, data)
	if err == bus.ErrNoResources { //nolint:errorlint // Publish returns it bare, and this is the data path
		err = r.publisher.PublishContext(ctx, tag, data)
	}
	if err != nil {
		return err
	}
	r.counters[at]++
	got.Messages++
	got.Bytes += uint64(len(data))
	return nil
}
