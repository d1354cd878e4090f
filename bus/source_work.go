package bus

import (
	"tagbus/bus/internal/chores"
	"tagbus/bus/internal/tagmap"
)

// One message of a publisher, or one call of the program, may cause work for a million
// tags or many thousand subscriptions. The subscriber's chores do it in slices.
// Meanwhile the source reads nothing, so each message is handled after the work of the
// one before.

// stepsPerTag is the cost of making an entry for a tag, or of finding its targets.
const stepsPerTag = 4

// work does a job of the source. The source reads nothing until it is done.
func (src *source) work(job chores.Job) {
	var done, paused bool
	src.sub.chores.Add(func(budget int) (steps int, _ bool) {
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

// spend counts the work caused by a message of the publisher, in steps. All messages of
// one turn of the loop share the budget of a slice. When it is used up, all sources
// stop reading until the next slice.
func (src *source) spend() {
	c := &src.sub.chores
	if src.spentIn != c.Slices {
		src.spentIn, src.spent, src.paid = c.Slices, 0, 0
	}
	steps := src.steps
	src.steps = 0
	src.spent += steps
	paid := min(src.paid, steps)
	src.paid -= paid
	if c.Spend(steps - paid) {
		return
	}
	for _, o := range src.sub.sources {
		if o.contact.Ready() {
			o.rest()
		}
	}
}

// rest stops reading until a slice has room for as much work as the publisher has
// caused in this one. The work is paid for in advance: otherwise all sources would go
// on at once.
func (src *source) rest() {
	c := &src.sub.chores
	if src.resting {
		return
	}
	src.resting = true
	steps := 0
	if src.spentIn == c.Slices {
		steps = src.spent
	}
	src.pause()
	c.Add(func(int) (int, bool) {
		src.resting = false
		src.spentIn, src.spent, src.paid = c.Slices, 0, steps
		src.resume()
		return 1 + steps, true
	})
}

// prune forgets the tags of a lane that no request wants any more, if there may be
// many. If one is wanted again, the publisher sends its position.
func (src *source) prune(lane uint16) {
	n := src.lane(lane)
	if n.pruning || n.received.Len() <= minPrune+2*n.kept {
		return
	}
	n.pruning = true
	place, swept := uint64(0), false
	src.sub.chores.Add(func(budget int) (steps int, done bool) {
		asked, before := 1+src.requests.Wide(lane), n.received.Cost() // each tag asks the wide requests
		if !swept {
			place, swept = n.received.Sweep(place, max(1, budget/asked), func(e *tagmap.Entry[received]) bool { return src.requests.Knows(lane, e.Tag) })
			steps = asked * (n.received.Cost() - before)
			if !swept {
				return steps, false
			}
			n.kept = n.received.Len()
			n.received.Shrink()
			before = n.received.Cost()
		}
		done = n.received.Move(max(1, budget-steps))
		n.pruning = !done
		return steps + n.received.Cost() - before, done
	})
}
