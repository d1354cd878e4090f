// SPDX-License-Identifier: Apache-2.0

package bus

import "tagbus/bus/internal/workqueue"

// Long work caused by a subscriber is a job of its link. The loop does it in slices
// (package workqueue). Meanwhile nothing is read from that subscriber, so its next request waits
// in its own socket. The jobs of a link are done in order. Several links take turns.

// linkJob is a job of a link.
type linkJob struct {
	run workqueue.Job

	// abort releases the holdings of the job when the link ends. nil: the job is done
	// all the same.
	abort func()
}

// turnsPerSlice is how many links with equal work are served in a slice, so that a
// request for few tags does not wait for one of many.
const turnsPerSlice = 8

// begin adds a job to a link. Short ones are done when begin returns. Loop only.
func (l *link) begin(job linkJob) {
	p := l.pub
	if p.work.Ended() {
		if job.abort != nil {
			job.abort()
		}
		return
	}
	if l.jobs.Push(job); l.jobs.Len() == 1 {
		p.busy.Push(l)
		if !p.serving {
			p.serving = true
			p.work.Add(p.serveBusy)
		}
	}
	if l.jobs.Len() > 0 && !l.working {
		l.working = true
		l.pause()
	}
}

// serveBusy does the jobs of links, in slices of the work queue.
func (p *Publisher) serveBusy(budget int) (steps int, done bool) {
	for p.busy.Len() > 0 && steps < budget {
		l, most := p.busy.Pop(), budget-steps
		if p.busy.Len() > 0 {
			most = min(most, workqueue.SliceSteps/turnsPerSlice+1)
		}
		steps += l.serve(most)
		if l.jobs.Len() > 0 {
			p.busy.Push(l)
		} else if l.working {
			l.working = false
			l.resume()
		}
	}
	p.serving = p.busy.Len() > 0
	return steps, !p.serving
}

// serve does a part of the first job of the link.
func (l *link) serve(budget int) (steps int) {
	job := *l.jobs.Front()
	if job.abort != nil && l.ends() {
		job.abort()
		l.jobs.Pop()
		return 1
	}
	steps, done := job.run(budget)
	if done {
		l.jobs.Pop()
	}
	return max(steps, 1)
}

// ends reports whether the connection is about to end, or has.
func (l *link) ends() bool { return l.fault != nil || l.unrouting }

// abortJobs gives up the jobs of all links, because the publisher ends. Loop only.
func (p *Publisher) abortJobs() {
	p.work.Stop()
	for p.busy.Len() > 0 {
		l := p.busy.Pop()
		for l.jobs.Len() > 0 {
			if job := l.jobs.Pop(); job.abort != nil {
				job.abort()
			}
		}
		if l.unrouting && !l.unrouted {
			l.wasUnrouted()
		}
		if l.buried != nil {
			l.wasBuried()
		}
	}
}
