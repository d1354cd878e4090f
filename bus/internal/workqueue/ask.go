// SPDX-License-Identifier: Apache-2.0

package workqueue

import "context"

// Loop is the loop of a queue: a netio.Loop.
type Loop interface {
	Post(f func()) bool
	OnLoop() bool
	OnAnyLoop() bool
}

// Asked is what is asked for something that takes a job.
type Asked struct {
	Loop  Loop
	Queue *Queue
	Ended <-chan struct{} // closed when the queue has ended

	Closed, OtherLoop error // that Ask returns
}

// Ask returns what a job tells, which is done on the loop between other work. On the loop it is
// done at once.
//
//   - job: returns the job that calls tell at its end, unless ctx ends. Called on the loop.
//   - Errors: Closed, if the queue has ended; OtherLoop on the loop of another node; the cause
//     of the end of ctx.
//   - Threads: any. Blocks: until the job is done.
func Ask[T any](ctx context.Context, of Asked, job func(tell func(T)) Job) (result T, err error) {
	told := make(chan T, 1)
	tell := func(x T) { told <- x }
	switch {
	case of.Loop.OnLoop():
		look := job(tell)
		for done := false; !done; {
			_, done = look(SliceSteps)
		}
		select {
		case result = <-told: // whatever has ended
			return result, nil
		default:
		}
	case of.Loop.OnAnyLoop():
		return result, of.OtherLoop
	case !of.Loop.Post(func() { of.Queue.Add(job(tell)) }):
		return result, of.Closed
	}
	select {
	case result = <-told:
		return result, nil
	case <-of.Ended:
		return result, of.Closed
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
}
