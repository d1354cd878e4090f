// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"

	"tagbus/bus/internal/workqueue"
	"tagbus/netio"
)

// asked is whose loop is asked for something that takes a job.
type asked struct {
	loop  netio.Loop
	work  *workqueue.Queue
	ended <-chan struct{}
}

// ask returns what a job tells, which is done on the loop between other work. On the loop it is
// done at once.
//
//   - what: names it in the error.
//   - job: returns the job that calls tell at its end, unless ctx ends. Called on the loop.
//   - Errors: ErrClosed; ErrOnLoop on the loop of another node; the cause of the end of ctx,
//     wrapped.
func ask[T any](ctx context.Context, of asked, what string, job func(tell func(T)) workqueue.Job) (result T, err error) {
	told := make(chan T, 1)
	tell := func(x T) { told <- x }
	switch {
	case of.loop.OnLoop():
		look := job(tell)
		for done := false; !done; {
			_, done = look(workqueue.SliceSteps)
		}
	case of.loop.OnAnyLoop():
		return result, ErrOnLoop
	case !of.loop.Post(func() { of.work.Add(job(tell)) }):
		return result, ErrClosed
	}
	select {
	case result = <-told:
		return result, nil // also if the rest has ended: on the loop it was told at once
	default:
	}
	select {
	case result = <-told:
		return result, nil
	case <-of.ended:
		return result, ErrClosed
	case <-ctx.Done():
		return result, fmt.Errorf("bus: %s: %w", what, context.Cause(ctx))
	}
}
