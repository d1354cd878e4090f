// SPDX-License-Identifier: Apache-2.0

// Package discovery keeps a user for each entry of one role in a directory: it makes one
// when an entry appears, and tells it what becomes of the entry. An entry that gets another
// role is gone.
//
// Thousands of entries may appear, or go, at once. Their events wait in a queue, and a
// job on the loop handles some of them in each slice.
//
// An entry can be refused, for example because it is too large to work with. It is then
// as if it stayed as it was before, or were not there. The reason is reported once, until
// the entry is gone or good.
package discovery

import (
	"hash/fnv"
	"io"
	"strconv"
	"sync"

	"tagbus/bus/directory"
	"tagbus/bus/internal/workqueue"
)

// User is what a follower keeps for an entry. Its functions return the steps that they
// have taken, see workqueue.Job.
type User interface {
	Take(e directory.Event) (steps int) // the entry has appeared or changed
	Gone() (steps int)                  // the entry is gone, which may be told again
}

// Follower follows the entries of one role in a directory. All functions are called on
// the loop.
type Follower[U User] struct {
	Role    directory.Role
	Users   map[string]U // by the instance of the entry; users that are not needed any more are deleted from outside
	Create  func() U
	Refuse  func(e directory.Entry) error // returns why an entry is refused, or nil
	Problem func(err error)               // reports why an entry is refused, and problems of the directory

	refused map[string]struct{} // instances whose entries were reported
	stop    func()
	queue   queue
}

// queue is the events that are not handled yet.
type queue struct {
	mu      sync.Mutex
	events  directory.Backlog
	working bool // work is going to run
}

// eventSteps is the cost of an event beside what its user does.
const eventSteps = 8

// turnsPerSlice is how often work gives way to other jobs in a slice.
const turnsPerSlice = 4

// Watch begins to follow a directory, until End.
//
//   - post: runs a function on the loop later: netio.Loop.Post.
//   - work: the work queue of the loop.
//   - ended: reports whether to ignore further events. Called on the loop.
//   - Errors: the directory's.
//   - Blocks: for the directory's storage.
func (f *Follower[U]) Watch(dir directory.Directory, post func(func()) bool, work *workqueue.Queue, ended func() bool) (err error) {
	f.stop, err = dir.Watch(func(e directory.Event) {
		if f.queue.push(e) {
			post(func() { work.Add(f.work(work, ended)) })
		}
	})
	return err
}

// End stops following, if Watch has begun it.
func (f *Follower[U]) End() {
	if f.stop != nil {
		f.stop()
	}
}

// work returns the job that handles events until none is left. It gives way to what the
// events have caused several times in each slice.
func (f *Follower[U]) work(work *workqueue.Queue, ended func() bool) workqueue.Job {
	return func(budget int) (steps int, done bool) {
		budget = min(budget, workqueue.SliceSteps/turnsPerSlice+1)
		for steps < budget {
			e, ok := f.queue.pop()
			if !ok {
				return steps, true
			}
			if steps += eventSteps; !ended() {
				steps += f.follow(e)
			}
		}
		work.Add(f.work(work, ended)) // after the other jobs
		return steps, true
	}
}

// push adds an event, and reports whether work has to be added to the work queue. Threads: any.
func (q *queue) push(e directory.Event) (begin bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	source := e.Entry.Instance
	if source == "" {
		source = problemOf(e.Err)
	}
	q.events.Push(source, e)
	begin, q.working = !q.working, true
	return begin
}

// maxProblems is how many problems that concern no entry may wait.
const maxProblems = 4096

// problemOf returns a name for a problem that concerns no entry: the same for the same
// text, and one of maxProblems. No instance has a colon.
func problemOf(err error) string {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, err.Error()) // never fails
	return "problem:" + strconv.Itoa(int(sum.Sum32()%maxProblems))
}

// pop takes the first event. If there is none, the work ends.
func (q *queue) pop() (e directory.Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok = q.events.Pop()
	q.working = ok
	return e, ok
}

// follow handles an event of the directory. Loop only.
func (f *Follower[U]) follow(e directory.Event) (steps int) {
	if e.Kind == directory.Problem {
		f.Problem(e.Err) // the entry stays as it was
		return 0
	}
	if e.Entry.Role != f.Role { // it may have had another one until now
		e.Kind = directory.Gone
	}
	if f.refuses(e) {
		return 0
	}
	u, known := f.Users[e.Entry.Instance]
	switch {
	case e.Kind != directory.Gone:
		if !known {
			u = f.Create()
			f.Users[e.Entry.Instance] = u
		}
		return u.Take(e)
	case known:
		return u.Gone()
	}
	return 0
}

// refuses reports whether an entry is refused, and reports the reason once.
func (f *Follower[U]) refuses(e directory.Event) bool {
	var reason error
	if e.Kind != directory.Gone {
		reason = f.Refuse(e.Entry)
	}
	if reason == nil {
		delete(f.refused, e.Entry.Instance)
		return false
	}
	if _, reported := f.refused[e.Entry.Instance]; !reported {
		if f.refused == nil {
			f.refused = make(map[string]struct{})
		}
		f.refused[e.Entry.Instance] = struct{}{}
		f.Problem(reason)
	}
	return true
}
