// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/netio"
)

// question is one question to one instance.
type question struct {
	entry  directory.Entry
	done   chan struct{} // closed behind the answer
	answer *state.State
	err    error
	at     time.Time // when it has ended
	broken bool      // the look that asked has ended first
}

// over reports whether the answer is there, or why there is none.
func (q *question) over() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

// answered reports whether there is a question, and its answer is there.
func (q *question) answered() bool { return q != nil && q.over() && q.answer != nil }

// failed reports whether it has ended without an answer, which was not the fault of its look.
func (q *question) failed() bool { return q.over() && q.answer == nil && !q.broken }

// silence is what is known of an instance that does not answer.
type silence struct {
	entry directory.Entry
	since time.Time
	next  time.Time // when it is asked again
	pause time.Duration
	err   error

	failed int // questions that have ended without an answer
}

// lasts reports whether an instance whose entry is not there any more has gone without a word,
// as it has not answered for a while. One question may fail while an instance ends in order.
//
//   - last: the question that is under way; nil: none is.
func (s *silence) lasts(last *question) bool {
	failed := s.failed
	if last != nil && last.failed() {
		failed++
	}
	return failed >= 2 && !withholds(s.err)
}

// answer asks, and puts the answer into the question.
func (w *Watcher) answer(ctx context.Context, asked *question, q state.Question, patience time.Duration) {
	defer close(asked.done)
	asked.answer, asked.err = w.ask(ctx, asked.entry, q, patience)
	asked.at = time.Now()
	asked.broken = asked.answer == nil && ctx.Err() != nil
}

func (w *Watcher) ask(ctx context.Context, e directory.Entry, q state.Question, patience time.Duration) (*state.State, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, noAnswer(patience))
	defer cancel()
	s, err := w.asker.Ask(ctx, e, q)
	switch {
	case err == nil:
		return &s, nil
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err) && isOver(ctx):
		// A try to connect, and a hello, may take longer than the question, and on a busy host be known to be late first.
		return nil, noAnswer(patience)
	default:
		return nil, err
	}
}

// isTimeout reports whether an error of an asker says that something has not come in time.
func isTimeout(err error) bool {
	return errors.Is(err, netio.ErrTimeout) || errors.Is(err, observer.ErrTimeout)
}

// isOver reports whether the time of a context is over, though it may not know yet.
func isOver(ctx context.Context) bool {
	end, _ := ctx.Deadline()
	return !time.Now().Before(end)
}

func noAnswer(patience time.Duration) error { return fmt.Errorf("%w in %v", ErrNoAnswer, patience) }
