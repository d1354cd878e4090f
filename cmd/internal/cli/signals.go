// SPDX-License-Identifier: Apache-2.0

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

// hurryTime is how long a command may take after the second signal.
const hurryTime = 2 * time.Second

// Signals returns two contexts, each with a SignalError as cause. ctx ends at the first
// SIGINT or SIGTERM: the command is to end in order. hurry ends at the next one, unless it
// comes within half a second of the first, when it is ignored: nothing is to be waited for
// any more. Two seconds later, or with a third signal, the process ends with status 1. stop
// gives the signals back.
func Signals(parent context.Context) (ctx, hurry context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	hurry, cancelHurry := context.WithCancelCause(context.WithoutCancel(parent))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var first time.Time
		var last <-chan time.Time
		for {
			select {
			case s := <-signals:
				switch {
				case first.IsZero():
					first = time.Now()
					cancel(&SignalError{s})
				case time.Since(first) <= echo:
				case last == nil:
					last = time.After(hurryTime)
					cancelHurry(&SignalError{s})
				default:
					os.Exit(ExitFailed)
				}
			case <-last:
				os.Exit(ExitFailed)
			case <-done:
				return
			}
		}
	}()
	return ctx, hurry, func() {
		signal.Stop(signals)
		close(done)
		cancel(context.Canceled)
		cancelHurry(context.Canceled)
	}
}
