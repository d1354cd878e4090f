package bus

import "tagbus/tags"

// One message of a publisher, or one call of the program, may cause work for a million
// tags or many thousand subscriptions. The subscriber's chores do it in slices.
// Meanwhile the source reads nothing, so that each message is taken after the work of
// the one before.

// stepsPerTag is what it costs to make an entry for a tag, or to find its targets.
const stepsPerTag = 4

// work does a job of the source, which reads nothing until it is done.
func (src *source) work(job chore) {
	var done, paused bool
	src.sub.chores.add(func(budget int) (steps int, _ bool) {
		steps, done = job(budget)
		if done && paused {
			src.resume()
		}
		return steps, done
	})
	if !done {
		paused = true
		src.pause()
	}
}

// spend counts the work that a message of the publisher has caused, in steps. All
// messages of one turn of the loop share the budget of a slice: when that is used up,
// all sources stop reading until the next.
func (src *source) spend() {
	c := &src.sub.chores
	if src.spentIn != c.slices {
		src.spentIn, src.spent, src.paid = c.slices, 0, 0
	}
	steps := src.steps
	src.steps = 0
	src.spent += steps
	paid := min(src.paid, steps)
	src.paid -= paid
	if c.spend(steps - paid) {
		return
	}
	for _, o := range src.sub.sources {
		if o.contact.state == contactReady {
			o.rest()
		}
	}
}

// rest stops reading until a slice has room for as much work as the publisher has
// caused in this one. That is paid for in advance: otherwise all sources would go on at
// once.
func (src *source) rest() {
	c := &src.sub.chores
	if src.resting {
		return
	}
	src.resting = true
	steps := 0
	if src.spentIn == c.slices {
		steps = src.spent
	}
	src.pause()
	c.add(func(int) (int, bool) {
		src.resting = false
		src.spentIn, src.spent, src.paid = c.slices, 0, steps
		src.resume()
		return 1 + steps, true
	})
}

// prune forgets the tags of a lane that no request wants any more, when they may be
// many. If one is wanted again, the publisher tells its position.
func (src *source) prune(n *sourceLane) {
	if n.pruning || n.received.count <= minPrune+2*n.kept {
		return
	}
	n.pruning = true
	place, swept := uint64(0), false
	src.sub.chores.add(func(budget int) (steps int, done bool) {
		asked, before := 1+len(n.wide), n.received.work // each tag asks the wide requests
		if !swept {
			place, swept = n.received.sweep(place, max(1, budget/asked), func(e *tagEntry[received]) bool { return n.knows(e.tag) })
			steps = asked * (n.received.work - before)
			if !swept {
				return steps, false
			}
			n.kept = n.received.count
			n.received.shrink()
			before = n.received.work
		}
		done = n.received.move(max(1, budget-steps))
		n.pruning = !done
		return steps + n.received.work - before, done
	})
}

// knows reports whether the publisher may send a tag in the lane.
func (n *sourceLane) knows(tag tags.Tag) bool {
	for r := range n.about(tag) {
		if r.knows(tag) {
			return true
		}
	}
	return false
}
