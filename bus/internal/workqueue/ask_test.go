// SPDX-License-Identifier: Apache-2.0

package workqueue_test

import (
	"context"
	"errors"
	"testing"

	"tagbus/bus/internal/workqueue"
)

// asker is a loop that runs what is posted at once, or has ended.
type asker struct{ on, other, ended bool }

func (a asker) OnLoop() bool    { return a.on }
func (a asker) OnAnyLoop() bool { return a.on || a.other }

func (a asker) Post(f func()) bool {
	if !a.ended {
		f()
	}
	return !a.ended
}

var errClosed, errOther, errGiven = errors.New("closed"), errors.New("another loop"), errors.New("given up")

// TestAsk: a job that tells has told whatever ends meanwhile, and nothing waits for one that does not.
func TestAsk(t *testing.T) {
	for name, test := range map[string]struct {
		loop        asker
		ended, over bool // the queue has ended; the context is over, and the job heeds that
		stopped     bool // the job never runs
		want        error
	}{
		"from outside":                           {},
		"on the loop":                            {loop: asker{on: true}},
		"on the loop, at the end":                {loop: asker{on: true}, ended: true},
		"on the loop, in a context that is over": {loop: asker{on: true}, over: true, want: errGiven},
		"on another loop":                        {loop: asker{other: true}, want: errOther},
		"of a loop that has ended":               {loop: asker{ended: true}, want: errClosed},
		"of a queue that ends":                   {stopped: true, ended: true, want: errClosed},
		"in a context that is over":              {over: true, want: errGiven},
	} {
		t.Run(name, func(t *testing.T) {
			q := workqueue.New(func(func()) bool { return true })
			if test.stopped {
				q.Stop()
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if test.over {
				cancel(errGiven)
			}
			ended := make(chan struct{})
			if test.ended {
				close(ended)
			}
			of := workqueue.Asked{Loop: test.loop, Queue: &q, Ended: ended, Closed: errClosed, OtherLoop: errOther}
			got, err := workqueue.Ask(ctx, of, func(tell func(int)) workqueue.Job {
				slices := 0
				return func(int) (steps int, done bool) {
					if slices++; test.loop.on && slices < 3 {
						return 1, false
					}
					if ctx.Err() == nil {
						tell(7)
					}
					return 1, true
				}
			})
			if want := map[bool]int{true: 7}[test.want == nil]; got != want || !errors.Is(err, test.want) {
				t.Errorf("got %d and %v, want %d and %v", got, err, want, test.want)
			}
		})
	}
}
