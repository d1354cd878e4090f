// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"context"

	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/workqueue"
)

// Part is what has come of one lane of a publisher.
type Part[P any] struct {
	Of   P
	Lane int
}

// Walk returns the job that calls visit for what is known of each tag of some publishers, and
// then end, unless ctx ends.
//
//   - in: returns what takes what arrives of a publisher.
//   - visit: returns the steps that it has taken.
func Walk[P, T, G any](ctx context.Context, all []P, in func(P) *Intake[T, G], visit func(Part[P], *tagmap.Entry[Tag[T, G]]) (steps int), end func()) workqueue.Job {
	var left []Part[P]
	for _, p := range all {
		for lane := range in(p).Lanes() {
			left = append(left, Part[P]{p, lane})
		}
	}
	place := uint64(0)
	return func(budget int) (steps int, done bool) {
		if ctx.Err() != nil {
			return 1, true
		}
		for len(left) > 0 && steps < budget {
			at := left[0]
			known := in(at.Of).Known(at.Lane)
			before := known.Cost()
			place, done = known.Walk(place, (budget-steps+1)/2, func(e *tagmap.Entry[Tag[T, G]]) { steps += visit(at, e) })
			if done {
				left, place = left[1:], 0
			}
			steps += 1 + known.Cost() - before
		}
		if len(left) > 0 {
			return steps, false
		}
		end()
		return steps, true
	}
}
