// SPDX-License-Identifier: Apache-2.0

package events

import (
	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
)

// Gaps turns losses into events of a Queue. What is lost of one tag for one cause is
// one event until that is told. So however much is lost, the waiting gaps are bounded.
// What a policy leaves out and what a subscription's own queue loses waits for Report.
// All other losses are told at once.
type Gaps[E any, K Key[E]] struct {
	queue *Queue[E]
	later []*untold[E, K] // for Report
}

// Key is what an event says of a tag besides cause and number. It is a constraint, so
// that a gap takes no more memory than its key and its counts.
type Key[E any] interface {
	// Gap returns the event for lost messages.
	Gap(cause subscription.Cause, messages uint64) E
}

// Gap is what is lost of one tag, and not told. The zero value is nothing. It does not
// move once it is used.
type Gap[E any, K Key[E]] struct{ untold *untold[E, K] }

// untold has the counts of a Gap that is not empty.
type untold[E any, K Key[E]] struct {
	gap    *Gap[E, K] // that refers to it
	of     K
	counts ledger.Counts
	queued bool // in the queue
	listed bool // in Gaps.later or a report
}

// NewGaps returns the gaps that q tells.
func NewGaps[E any, K Key[E]](q *Queue[E]) *Gaps[E, K] { return &Gaps[E, K]{queue: q} }

// promptly reports whether a loss is told at once.
func promptly(cause subscription.Cause) bool {
	return cause != subscription.CauseLeftOut && cause != ledger.Queue
}

// Add schedules an event for lost messages of a tag, or adds them to one that waits.
//
//   - of: is that of the first loss in gap.
//   - begun: Report is due in some time, and was not before.
func (g *Gaps[E, K]) Add(gap *Gap[E, K], of K, cause subscription.Cause, messages uint64) (begun bool) {
	u := gap.untold
	if u == nil {
		u = &untold[E, K]{gap: gap, of: of}
		gap.untold = u
	}
	u.counts[cause] += messages
	switch {
	case promptly(cause):
		if !u.queued {
			u.queued = true
			g.queue.push(entry[E]{events: u})
		}
	case !u.listed:
		u.listed = true
		g.later = append(g.later, u)
		return len(g.later) == 1
	}
	return false
}

// Report queues the events that are not told at once.
func (g *Gaps[E, K]) Report() {
	if len(g.later) > 0 {
		g.queue.push(entry[E]{events: &report[E, K]{g.later}})
		g.later = nil
	}
}

// take returns the next event, prompt or not, and whether there is another one of that
// kind.
func (u *untold[E, K]) take(prompt bool) (e E, more bool) {
	found := false
	for i, messages := range u.counts {
		cause := subscription.Cause(i)
		switch {
		case messages == 0 || promptly(cause) != prompt:
		case found:
			return e, true
		default:
			e, found = u.of.Gap(cause, messages), true
			u.counts[i] = 0
		}
	}
	if prompt {
		u.queued = false
	} else {
		u.listed = false
	}
	if !u.queued && !u.listed {
		u.gap.untold = nil
	}
	return e, false
}

// Next implements Series, of the events that are told at once.
func (u *untold[E, K]) Next() (E, bool) { return u.take(true) }

// report is the series of the other events.
type report[E any, K Key[E]] struct{ list []*untold[E, K] }

// Next implements Series.
func (r *report[E, K]) Next() (E, bool) {
	e, more := r.list[0].take(false)
	if !more {
		r.list[0] = nil
		r.list = r.list[1:]
	}
	return e, len(r.list) > 0
}
