// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/signal"
	"sync/atomic"
	"syscall"

	"tagbus/internal/signals"
)

// SignalError is the cause with which the context of Signals ends.
type SignalError = signals.Error

// IgnoreClosedPipes makes a write to a pipe without a reader fail with
// EPIPE, also on standard output, instead of ending the process.
func IgnoreClosedPipes() { signal.Ignore(syscall.SIGPIPE) }

// Signals are those that end a command, from before its command line is read: a file of
// --config may be on a file system that does not answer.
type Signals struct {
	// Asked ends at the first signal, Hurry at the second one, as the contexts of
	// signals.Watch.
	Asked, Hurry context.Context

	rereads atomic.Bool
	stop    func()
	leave   func()
}

// TakeSignals begins to take signals. They end a command that waits for a file whose file system
// does not answer, which is said on standard error.
func TakeSignals(program string, stderr io.Writer) *Signals {
	s := new(Signals)
	SayWaits(program, stderr)
	s.Asked, s.Hurry, s.stop = signals.Watch(context.Background(), signals.Config{Rereads: s.rereads.Load, Stacks: stderr, Status: ExitFailed})
	s.leave = s.leaveWaits(program, stderr)
	return s
}

// Reread makes SIGHUP read files again, if there are any.
func (s *Signals) Reread(files *Security) { s.rereads.Store(files.named()) }

// Stop gives the signals back.
func (s *Signals) Stop() {
	s.leave()
	s.stop()
}

// Follow makes the console say which signal ends ctx, if that means more than that the end is
// asked for. It is said before the summary. Call it once, first.
func (c *Console) Follow(ctx context.Context) {
	c.ctx = ctx
	context.AfterFunc(ctx, c.saySignal)
}

// saySignal says it once the context has ended.
func (c *Console) saySignal() {
	signal := (*SignalError)(nil)
	if c.ctx == nil || c.ctx.Err() == nil || !errors.As(context.Cause(c.ctx), &signal) || signal.Why == "" {
		return
	}
	c.signal.Do(func() {
		c.Tell(slog.LevelWarn, "signal", []slog.Attr{slog.String("signal", signal.Name())}, "%s: %s: ending in order", signal.Name(), signal.Why)
	})
}
