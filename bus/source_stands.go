package bus

import (
	"cmp"
	"slices"

	"tagbus/bus/internal/chores"
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
	var all runs
	place, walked := uint64(0), false
	return func(budget int) (steps int, done bool) {
		if !walked {
			var run []subscription.Position
			before := known.Cost()
			place, walked = known.Walk(place, (budget+1)/2, func(e *tagmap.Entry[received]) {
				note(e, func(p subscription.Position) { run = append(run, p) })
			})
			all.add(run)
			return known.Cost() - before + stepsPerTag*len(run), false
		}
		for ; steps < budget; steps += stepsPerTag {
			p, ok := all.pop()
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

// runs has positions in several sorted lists, which are merged as they are taken:
// sorting a million at once takes long.
type runs struct {
	heap [][]subscription.Position // none is empty; by the first tag
}

// add adds a list, which it sorts.
func (r *runs) add(run []subscription.Position) {
	if len(run) == 0 {
		return
	}
	slices.SortFunc(run, comparePositions)
	r.heap = append(r.heap, run)
	for i := len(r.heap) - 1; i > 0 && r.less(i, (i-1)/2); i = (i - 1) / 2 {
		r.heap[i], r.heap[(i-1)/2] = r.heap[(i-1)/2], r.heap[i]
	}
}

// pop takes the lowest position.
func (r *runs) pop() (p subscription.Position, ok bool) {
	if len(r.heap) == 0 {
		return p, false
	}
	p = r.heap[0][0]
	if r.heap[0] = r.heap[0][1:]; len(r.heap[0]) == 0 {
		last := len(r.heap) - 1
		r.heap[0] = r.heap[last]
		r.heap = r.heap[:last]
	}
	for i := 0; ; {
		low := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(r.heap); child++ {
			if r.less(child, low) {
				low = child
			}
		}
		if low == i {
			return p, true
		}
		r.heap[i], r.heap[low] = r.heap[low], r.heap[i]
		i = low
	}
}

func (r *runs) less(i, j int) bool { return cmp.Less(r.heap[i][0].Tag, r.heap[j][0].Tag) }
