package bus

import "tagbus/bus/internal/ring"

// chores does work that is too long for one function on the loop: jobs in the
// order in which they were added, each in slices, with everything else that the
// loop has to do between two slices.
//
// What all jobs cost together between two slices is bounded too: a job begins at
// once, inside add, as long as its slice has some of the budget left.
//
// Everything here runs on the loop.
type chores struct {
	post    func(func()) bool // netio.Loop.Post
	jobs    ring.Ring[chore]
	budget  int  // what is left of this slice
	posted  bool // slice is going to run
	stopped bool // nothing is done any more

	total   uint64 // steps so far
	longest int    // of the steps of one slice
	slices  int    // so far
}

// chore is a job: it works on until it is done or has taken about budget steps.
// It returns the steps that it has taken; a few too many do no harm, and what is
// done in one piece may cost more than the budget. A step takes about as long as
// a look into a large map: 50 to 100 ns. A job that is not done is called again in
// the next slice. It may add jobs; they come after those that wait.
type chore func(budget int) (steps int, done bool)

// sliceSteps is the budget of a slice, which takes a millisecond or two. Tests make
// it smaller.
var sliceSteps = 16 << 10

// newChores returns chores without a job.
//
//   - post: runs a function on the loop later; false if the loop has ended.
func newChores(post func(func()) bool) chores {
	return chores{post: post, budget: sliceSteps}
}

// add adds a job. It begins at once, and a short one is done when add returns, if
// no other waits and the slice has some of its budget left; on an idle loop it has.
// After stop it does nothing.
func (c *chores) add(job chore) {
	if c.stopped {
		return
	}
	c.jobs.Push(job)
	if c.jobs.Len() == 1 { // none waits, and none runs further up the stack
		c.work()
	}
	c.postSlice()
}

// spend counts work that is not done by a job, and reports whether the slice has
// some of its budget left. If not, whoever causes the work is to be held back until
// a job runs that is added then.
func (c *chores) spend(steps int) (left bool) {
	c.take(steps)
	c.postSlice()
	return c.budget > 0
}

// idle reports whether no job waits or runs.
func (c *chores) idle() bool { return c.jobs.Len() == 0 }

// stop drops the jobs that are not done.
func (c *chores) stop() {
	c.stopped, c.jobs = true, ring.Ring[chore]{}
}

// take takes steps off the budget.
func (c *chores) take(steps int) {
	c.budget -= steps
	c.total += uint64(steps)
	c.longest = max(c.longest, sliceSteps-c.budget)
}

// slice is what is posted: the next slice of the work.
func (c *chores) slice() {
	c.posted, c.budget = false, sliceSteps
	c.slices++
	c.work()
	c.postSlice()
}

// postSlice has the next slice run if the work goes on in it. After a slice that
// is half used it runs for its budget alone.
func (c *chores) postSlice() {
	if c.posted || c.stopped || c.jobs.Len() == 0 && c.budget > sliceSteps/2 {
		return
	}
	if c.posted = c.post(c.slice); !c.posted {
		c.stop()
	}
}

// work works until nothing is left, of the work or of the budget.
func (c *chores) work() {
	for c.jobs.Len() > 0 && c.budget > 0 {
		steps, done := (*c.jobs.Front())(c.budget)
		c.take(steps)
		if c.stopped {
			return // by the job
		}
		if !done {
			return // it is called again in the next slice
		}
		c.jobs.Pop()
	}
}
