// SPDX-License-Identifier: Apache-2.0

// Package workqueue does work on a loop that is too long for one function: in slices,
// with everything else that the loop has to do between two slices. A List can change
// between two of them. A Share bounds what a peer causes.
//
// Everything here runs on the loop. Nothing is locked.
package workqueue

import "tagbus/bus/internal/ring"

// Queue does jobs in the order in which they were added.
//
// What all jobs cost together between two slices is bounded too: a job begins at
// once, inside Add, as long as its slice has some of the budget left.
type Queue struct {
	post    func(func()) bool
	jobs    ring.Ring[Job]
	budget  int  // what is left of this slice
	posted  bool // slice is going to run
	stopped bool // nothing is done any more

	Total   uint64 // steps so far
	Longest int    // steps of the longest slice
	Slices  int    // so far
}

// Job works until it is done or has taken about budget steps. It returns the steps
// that it has taken: a few too many do no harm, and a piece that cannot be cut may
// cost more than the budget. A step takes about as long as a lookup in a large map,
// 50 to 100 ns. A job that is not done is called again in the next slice. It may add
// jobs, which come after those that wait.
type Job func(budget int) (steps int, done bool)

// SliceSteps is the budget of a slice, which takes a millisecond or two. Tests make
// it smaller.
var SliceSteps = 16 << 10

// New returns a queue without jobs.
//
//   - post: runs a function on the loop later, and returns false if the loop has ended:
//     netio.Loop.Post.
func New(post func(func()) bool) Queue {
	return Queue{post: post, budget: SliceSteps}
}

// Add adds a job. If no other waits and the slice has some of its budget left, as on
// an idle loop, the job begins at once; a short one is done when Add returns. After
// Stop, Add does nothing.
func (q *Queue) Add(job Job) {
	if q.stopped {
		return
	}
	q.jobs.Push(job)
	if q.jobs.Len() == 1 { // none waits, and none runs further up the stack
		q.work()
	}
	q.postSlice()
}

// spend counts work that is not done by a job, and reports whether the slice has
// some of its budget left. If not, the cause of the work is to be held back until
// a job runs that is added then.
func (q *Queue) spend(steps int) (left bool) {
	q.take(steps)
	q.postSlice()
	return q.budget > 0
}

// Waiting returns how many jobs wait or run.
func (q *Queue) Waiting() int { return q.jobs.Len() }

// Ended reports whether Stop was called: no job runs any more.
func (q *Queue) Ended() bool { return q.stopped }

// Stop drops the jobs that are not done.
func (q *Queue) Stop() {
	q.stopped, q.jobs = true, ring.Ring[Job]{}
}

// take takes steps off the budget.
func (q *Queue) take(steps int) {
	q.budget -= steps
	q.Total += uint64(steps)
	q.Longest = max(q.Longest, SliceSteps-q.budget)
}

// slice runs the next slice of the work.
func (q *Queue) slice() {
	q.posted, q.budget = false, SliceSteps
	q.Slices++
	q.work()
	q.postSlice()
}

// postSlice posts the next slice if work goes on in it. After a slice that is half
// used it is posted for its budget alone.
func (q *Queue) postSlice() {
	if q.posted || q.stopped || q.jobs.Len() == 0 && q.budget > SliceSteps/2 {
		return
	}
	if q.posted = q.post(q.slice); !q.posted {
		q.Stop()
	}
}

// work does jobs until none is left, or nothing of the budget.
func (q *Queue) work() {
	for q.jobs.Len() > 0 && q.budget > 0 {
		steps, done := (*q.jobs.Front())(q.budget)
		q.take(steps)
		if q.stopped {
			return // by the job
		}
		if !done {
			return // it is called again in the next slice
		}
		q.jobs.Pop()
	}
}
