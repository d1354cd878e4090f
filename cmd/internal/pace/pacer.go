// SPDX-License-Identifier: Apache-2.0

// Package pace spreads messages evenly over time.
package pace

import (
	"context"
	"time"

	"tagbus/cmd/internal/units"
)

const (
	// tick is the time between two batches: less cannot be slept, see
	// golang.org/issue/44343.
	tick = 2 * time.Millisecond

	// maxCatchUp bounds how much a pacer makes up for when its caller could
	// not keep the pace for a while.
	maxCatchUp = 100 * time.Millisecond

	// maxInterval is 31 years, so that no rate is too low for a Duration.
	maxInterval = 1e18
)

// Pacer lets its caller through at a rate. At high rates it does so in batches,
// one every 2 ms, so that most calls of Wait look at no clock.
//
// Threads: one at a time.
type Pacer struct {
	batch    int           // messages at once
	interval time.Duration // between batches
	left     int           // of the batch
	next     time.Time     // when the next batch is due
	timer    *time.Timer
}

// New returns a pacer for a rate per second. The first call of Wait starts it.
func New(rate units.Rate) *Pacer {
	batch := max(1, int(float64(rate)*tick.Seconds()))
	interval := min(float64(batch)/float64(rate)*float64(time.Second), maxInterval)
	return &Pacer{batch: batch, interval: time.Duration(interval)}
}

// Wait waits until the next message is due.
//
//   - Errors: the cause of the end of ctx, while it waits.
//   - Allocates: no, after the first wait.
func (p *Pacer) Wait(ctx context.Context) error {
	if p.left > 0 {
		p.left--
		return nil
	}
	now := time.Now()
	switch late := now.Sub(p.next); {
	case p.next.IsZero() || late > maxCatchUp:
		p.next = now
	case late < 0:
		if err := p.sleep(ctx, -late); err != nil {
			return err
		}
	}
	p.next = p.next.Add(p.interval)
	p.left = p.batch - 1
	return nil
}

func (p *Pacer) sleep(ctx context.Context, d time.Duration) error {
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	select {
	case <-p.timer.C:
		return nil
	case <-ctx.Done():
		p.timer.Stop()
		return context.Cause(ctx)
	}
}
