// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/tags"
)

const (
	// WaitingInterval is the time between two lines about a wait.
	WaitingInterval = 5 * time.Second

	// SignalDrainTimeout bounds the end after a signal.
	SignalDrainTimeout = 5 * time.Second

	// drainPatience is how long subscribers may take at the end before that is said.
	drainPatience = time.Second

	// leastDrain is how long the directory has at the end, also with --drain-timeout 0: else an
	// entry that goes at once is said to stay.
	leastDrain = 100 * time.Millisecond
)

// Publisher is a *bus.Publisher, or a sender that waits as one.
type Publisher interface {
	WaitSubscribers(ctx context.Context, n int, set tags.Set) error
	Stats() bus.PublisherStats
	DrainFailed(ctx context.Context, why error) error
	Close() error
}

// Waiting is how a command waits for the subscribers that it wants before it publishes.
type Waiting struct {
	Subscribers int
	Tags        tags.Set                            // of which they want all together
	Within      time.Duration                       // 0: for ever
	Live        func(line func() string)            // sets the line that a terminal renews
	SoFar       func(came int) string               // says now and then how many there are
	Late        func(wanted string, came int) error // returns what ends the wait behind Within
}

// Wait waits.
//
//   - Errors: the cause of the end of ctx; that of Late.
func (w *Waiting) Wait(ctx context.Context, c *cli.Console, p Publisher) error {
	wanted := "1 subscriber that wants all of the tags"
	if w.Subscribers > 1 {
		wanted = fmt.Sprintf("%d subscribers that together want all of the tags", w.Subscribers)
	}
	count := func() int { return len(p.Stats().Subscribers) }
	c.Tell(slog.LevelInfo, "waiting", nil, "waiting for %s", wanted)
	since := time.Now()
	w.Live(func() string { return cli.Waiting(since, fmt.Sprintf("%s, %d so far", wanted, count())) })
	done := make(chan error, 1)
	go func() { done <- p.WaitSubscribers(ctx, w.Subscribers, w.Tags) }()
	var over <-chan time.Time
	if w.Within > 0 {
		timer := time.NewTimer(w.Within)
		defer timer.Stop()
		over = timer.C
	}
	tick := time.NewTicker(WaitingInterval)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		case <-over:
			return w.Late(wanted, count())
		case <-tick.C:
			came := count()
			c.Tell(slog.LevelInfo, "waiting", []slog.Attr{slog.Int("count", came)}, "%s", w.SoFar(came))
		}
	}
}

// Why a wait for subscribers has ended before they had all, beside its flag.
var (
	errSignalled = fmt.Errorf("a signal shortens --drain-timeout to %v", SignalDrainTimeout)
	errHurry     = errors.New("a second signal gave up --drain-timeout")
)

// Drain gives the subscribers what is left, and tells them why it is not all. A signal shortens that.
//
//   - hurry: ends the wait.
//   - failure: of publishing; nil if there was none.
//   - slow: is called once if it takes longer than a second, with what ends it, and how long it may take in all.
func Drain(ctx, hurry context.Context, p Publisher, timeout time.Duration, failure error, slow func(draining context.Context, timeout time.Duration)) error {
	over := fmt.Errorf("--drain-timeout: %v are over", timeout)
	if ctx.Err() != nil && timeout > SignalDrainTimeout {
		timeout, over = SignalDrainTimeout, errSignalled
	}
	ended, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	draining, done := context.WithTimeoutCause(ended, max(timeout, leastDrain), over)
	defer done()
	defer context.AfterFunc(hurry, func() { cancel(errHurry) })()
	defer time.AfterFunc(drainPatience, func() { slow(draining, timeout) }).Stop()
	if ctx.Err() == nil { // a signal now shortens the wait
		defer context.AfterFunc(ctx, func() { time.AfterFunc(SignalDrainTimeout, func() { cancel(errSignalled) }) })()
	}
	err := p.DrainFailed(draining, failure)
	if err != nil { // what is lost is counted when the connections are closed
		err = errors.Join(err, p.Close())
	}
	return err
}
