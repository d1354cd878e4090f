// SPDX-License-Identifier: Apache-2.0

package workqueue

// Once is a job that does all that it is asked for before it begins. The zero value waits for
// nothing.
type Once struct{ waits bool }

// Add adds the job to a queue, unless it is there and has not begun.
//
//   - begin: returns the job. It is called when that begins: what is asked for from then on
//     needs another one.
func (o *Once) Add(q *Queue, begin func() Job) {
	if o.waits {
		return
	}
	o.waits = true
	var job Job
	q.Add(func(budget int) (steps int, done bool) {
		if job == nil {
			o.waits = false
			job = begin()
		}
		return job(budget)
	})
}
