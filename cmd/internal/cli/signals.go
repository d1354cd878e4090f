package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// SignalError is the cause with which the context of Signals ends.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return fmt.Sprintf("stopped by signal: %v", e.Signal) }

// IgnoreClosedPipes makes a write to a pipe without a reader fail with
// EPIPE, also on standard output, instead of ending the process.
func IgnoreClosedPipes() { signal.Ignore(syscall.SIGPIPE) }

// echo is how soon after the first a signal is taken for the same wish: timeout
// of coreutils sends two, one to the process and one to its group.
const echo = 500 * time.Millisecond

// Signals returns a context that ends at the first SIGINT or SIGTERM, with a
// SignalError as cause. The next one ends the process at once with status 1,
// unless it comes within half a second of the first: that one is ignored.
// stop gives the signals back.
func Signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case s := <-signals:
				switch {
				case first.IsZero():
					first = time.Now()
					cancel(&SignalError{s})
				case time.Since(first) > echo:
					os.Exit(ExitFailed)
				}
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
