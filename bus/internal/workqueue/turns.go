// SPDX-License-Identifier: Apache-2.0

package workqueue

import "tagbus/bus/internal/ring"

// Turns does the long work that peers cause, in slices of a queue: the tasks of one peer in
// their order, and those of several in turn.
type Turns struct {
	queue   *Queue
	busy    ring.Ring[*Line] // that have tasks, in turn
	serving bool             // the job for them has not ended
}

// Turns returns what does the work of peers, none yet.
func (q *Queue) Turns() Turns { return Turns{queue: q} }

// Line has the tasks of one peer, which is not read while there are some: its next request
// waits in its own socket.
type Line struct {
	Turns *Turns
	Peer  Peer

	tasks  ring.Ring[Task]
	paused bool // for the tasks
}

// Peer is whose tasks a Line has.
type Peer interface {
	// Pause and Resume end and go on with reading from the peer.
	Pause()
	Resume()

	// Ends reports whether the peer is about to go, or has gone: tasks are aborted then.
	Ends() bool

	// Aborted is called after the tasks of the peer are given up, because the queue has ended.
	Aborted()
}

// Task is long work for a peer.
type Task struct {
	Run Job

	// Abort releases the holdings of the task when the peer ends. nil: the task is done all
	// the same.
	Abort func()
}

// turnsPerSlice is how many peers with equal work are served in a slice, so that a
// request for few tags does not wait for one of many.
const turnsPerSlice = 8

// Len returns how many tasks wait or run.
func (l *Line) Len() int { return l.tasks.Len() }

// Ended reports whether the queue has ended: tasks that are added are aborted.
func (l *Line) Ended() bool { return l.Turns.queue.Ended() }

// Add adds a task. Short ones are done when Add returns.
func (l *Line) Add(task Task) {
	t := l.Turns
	if l.Ended() {
		if task.Abort != nil {
			task.Abort()
		}
		return
	}
	if l.tasks.Push(task); l.tasks.Len() == 1 {
		t.busy.Push(l)
		if !t.serving {
			t.serving = true
			t.queue.Add(t.serve)
		}
	}
	if l.tasks.Len() > 0 && !l.paused {
		l.paused = true
		l.Peer.Pause()
	}
}

// serve does tasks, in slices of the queue.
func (t *Turns) serve(budget int) (steps int, done bool) {
	for t.busy.Len() > 0 && steps < budget {
		l, most := t.busy.Pop(), budget-steps
		if t.busy.Len() > 0 {
			most = min(most, SliceSteps/turnsPerSlice+1)
		}
		steps += l.serve(most)
		if l.tasks.Len() > 0 {
			t.busy.Push(l)
		} else if l.paused {
			l.paused = false
			l.Peer.Resume()
		}
	}
	t.serving = t.busy.Len() > 0
	return steps, !t.serving
}

// serve does a part of the first task of the peer.
func (l *Line) serve(budget int) (steps int) {
	task := *l.tasks.Front()
	if task.Abort != nil && l.Peer.Ends() {
		task.Abort()
		l.tasks.Pop()
		return 1
	}
	steps, done := task.Run(budget)
	if done {
		l.tasks.Pop()
	}
	return max(steps, 1)
}

// Abort stops the queue, and gives up the tasks of all peers.
func (t *Turns) Abort() {
	t.queue.Stop()
	for t.busy.Len() > 0 {
		l := t.busy.Pop()
		for l.tasks.Len() > 0 {
			if task := l.tasks.Pop(); task.Abort != nil {
				task.Abort()
			}
		}
		l.Peer.Aborted()
	}
}
