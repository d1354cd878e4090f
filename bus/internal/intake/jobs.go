// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// Prune returns the job that forgets the tags of a lane that no request wants any more; nil
// if there cannot be many. If one is wanted again, the publisher sends its position.
func (in *Intake[T, G]) Prune(lane uint16) workqueue.Job {
	cost := func() int { return in.asked.Wide(lane) } // each tag asks the wide requests
	needed := func(tag tags.Tag) bool { return in.asked.Knows(lane, tag) }
	return in.lane(lane).tags.Prune(cost, needed)
}

// Stands returns the job that calls tell with the positions, on earlier connections, of
// the tags of a set that are due, ascending. The publisher makes up for missed messages
// from there.
//
//   - due: called for a tag that has one.
func (in *Intake[T, G]) Stands(lane uint16, set tags.Set, due func(tags.Tag) bool, tell func(subscription.Position)) workqueue.Job {
	known := &in.lane(lane).tags
	note := func(e *tagmap.Entry[Tag[T, G]], tell func(subscription.Position)) {
		if e != nil && e.Value.Tally.Position != 0 && due(e.Tag) {
			tell(subscription.Position{Tag: e.Tag, Count: e.Value.Tally.Position})
		}
	}
	if n, _ := set.Count(); n <= uint64(known.Len()) {
		return eachTag(set, func(tag tags.Tag) { note(known.Entry(tag), tell) })
	}
	var all positions.Merge
	place, walked := uint64(0), false
	return func(budget int) (steps int, done bool) {
		if !walked {
			var run []subscription.Position
			before := known.Cost()
			place, walked = known.Walk(place, (budget+1)/2, func(e *tagmap.Entry[Tag[T, G]]) {
				note(e, func(p subscription.Position) { run = append(run, p) })
			})
			all.Add(run)
			return known.Cost() - before + StepsPerTag*len(run), false
		}
		for ; steps < budget; steps += StepsPerTag {
			p, ok := all.Pop()
			if !ok {
				return steps, true
			}
			tell(p)
		}
		return steps, false
	}
}

// eachTag returns a job that calls f for every tag of a set, in ascending order.
func eachTag(set tags.Set, f func(tags.Tag)) workqueue.Job {
	first := tags.Tag(0)
	return func(budget int) (steps int, done bool) {
		for tag := range set.AllFrom(first) {
			if steps >= budget {
				first = tag
				return steps, false
			}
			f(tag)
			steps += StepsPerTag
		}
		return steps, true
	}
}
