// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/signal"
	"syscall"

	"tagbus/internal/signals"
)

// SignalError is the cause with which the context of Signals ends.
type SignalError = signals.Error

// IgnoreClosedPipes makes a write to a pipe without a reader fail with
// EPIPE, also on standard output, instead of ending the process.
func IgnoreClosedPipes() { signal.Ignore(syscall.SIGPIPE) }

// Signals returns two contexts that end as those of signals.Watch: ctx at the first signal,
// hurry at the second one.
//
//   - files: if it names any, SIGHUP reads them again.
//   - stacks: takes the stacks of all goroutines at SIGQUIT.
func Signals(parent context.Context, files *Security, stacks io.Writer) (ctx, hurry context.Context, stop func()) {
	return signals.Watch(parent, signals.Config{Rereads: files.named(), Stacks: stacks, Status: ExitFailed})
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
