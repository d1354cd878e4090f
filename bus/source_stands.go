package bus

import (
	"tagbus/bus/internal/chores"
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/tagmap"
	"tagbus/subscription"
	"tagbus/tags"
)

// stands returns a job that calls tell with the positions, on earlier connections, of
// the tags that the publisher owes a subscription. The publisher makes up for missed
// messages from there. The positions ascend. told has those of the group that need not
// be sent again.
func (src *source) stands(r *subRequest, told map[laneTag]struct{}, tell func(subscription.Position)) chores.Job {
	known := &src.lane(r.Sub.lane).received
	note := func(e *tagmap.Entry[received], tell func(subscription.Position)) {
		if e == nil || e.Value.tally.Position == 0 || !r.Owes(e.Tag) {
			return
		}
		key := laneTag{r.Sub.lane, e.Tag}
		if _, said := told[key]; !said {
			told[key] = struct{}{}
			tell(subscription.Position{Tag: e.Tag, Count: e.Value.tally.Position})
		}
	}
	if n, _ := r.Sent().Count(); n <= uint64(known.Len()) {
		return eachTag(r.Sent(), func(tag tags.Tag) { note(known.Entry(tag), tell) })
	}
	var all positions.Merge
	place, walked := uint64(0), false
	return func(budget int) (steps int, done bool) {
		if !walked {
			var run []subscription.Position
			before := known.Cost()
			place, walked = known.Walk(place, (budget+1)/2, func(e *tagmap.Entry[received]) {
				note(e, func(p subscription.Position) { run = append(run, p) })
			})
			all.Add(run)
			return known.Cost() - before + stepsPerTag*len(run), false
		}
		for ; steps < budget; steps += stepsPerTag {
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
func eachTag(set tags.Set, f func(tags.Tag)) chores.Job {
	first := tags.Tag(0)
	return func(budget int) (steps int, done bool) {
		for tag := range set.AllFrom(first) {
			if steps >= budget {
				first = tag
				return steps, false
			}
			f(tag)
			steps += stepsPerTag
		}
		return steps, true
	}
}
