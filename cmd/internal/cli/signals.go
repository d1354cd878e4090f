package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// SignalError is the cause with which the context of Signals ends.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return fmt.Sprintf("stopped by signal: %v", e.Signal) }

// IgnoreClosedPipes makes a write to a pipe that nobody reads any more fail with
// EPIPE, also on standard output, instead of ending the process.
func IgnoreClosedPipes() { signal.Ignore(syscall.SIGPIPE) }

// Signals returns a context that ends at the first SIGINT or SIGTERM, with a
// SignalError as cause. The second one ends the process at once with status 1.
// stop gives the signals back.
func Signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case s := <-signals:
				if n > 0 {
					os.Exit(ExitFailed)
				}
				cancel(&SignalError{s})
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(context.Canceled)
	}
}
