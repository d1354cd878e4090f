// SPDX-License-Identifier: Apache-2.0

package fanout

import "tagbus/bus/internal/workqueue"

// Exit ends an Outbox for good, by tasks of its connection: first it takes the outbox out of
// all routes, and then, after Kill, drops what is queued. If the queue of the tasks has ended,
// nothing is published any more, and both are done at once.
//
// Everything here runs on the loop.
type Exit struct {
	box   *Outbox
	tasks *workqueue.Line

	begun, out bool     // of the routes: Leave has begun; it is done
	owed       bool     // there was a subscription at first
	left       []func() // called then
	buried     func()   // called when what is queued is dropped; nil: Bury was not called, or is done
}

// NewExit returns the exit of an outbox that is still in routes.
func NewExit(box *Outbox, tasks *workqueue.Line) *Exit {
	return &Exit{box: box, tasks: tasks, owed: box.Subscriptions() > 0}
}

// Begun reports whether the exit has begun. A nil Exit has not.
func (x *Exit) Begun() bool { return x != nil && x.begun }

// Owed reports whether the subscriber had a subscription when the exit was made.
func (x *Exit) Owed() bool { return x != nil && x.owed }

// Leave takes the outbox out of all routes, once, and then calls then.
func (x *Exit) Leave(then func()) {
	if x.out || x.tasks.Ended() {
		then()
		return
	}
	x.left = append(x.left, then)
	if x.begun {
		return
	}
	x.begun = true
	leave := x.box.Leave()
	x.tasks.Add(workqueue.Task{Run: func(budget int) (steps int, done bool) {
		if steps, done = leave(budget); done {
			x.hasLeft()
		}
		return steps, done
	}})
}

// hasLeft calls what waits for the end of Leave.
func (x *Exit) hasLeft() {
	x.out = true
	for len(x.left) > 0 {
		f := x.left[0]
		x.left = x.left[1:]
		f()
	}
}

// Bury drops what is queued at an outbox that has left, and then calls then.
func (x *Exit) Bury(then func()) {
	x.buried = then
	if _, done := x.box.Bury(1); done || x.tasks.Ended() { // mostly Leave has done it
		x.isBuried()
		return
	}
	x.tasks.Add(workqueue.Task{Run: func(budget int) (steps int, done bool) {
		if steps, done = x.box.Bury(budget); done {
			x.isBuried()
		}
		return steps, done
	}})
}

// isBuried calls what waits for the end of Bury.
func (x *Exit) isBuried() {
	x.box.BuryAll()
	f := x.buried
	x.buried = nil
	f()
}

// Abort does at once what is left to do, since the queue of the tasks has ended.
func (x *Exit) Abort() {
	if x == nil {
		return
	}
	if x.begun && !x.out {
		x.hasLeft()
	}
	if x.buried != nil {
		x.isBuried()
	}
}
