package bus

import (
	"tagbus/bus/internal/chores"
	"tagbus/bus/internal/request"
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

// spend counts the work caused by a message of the publisher. All messages of one turn
// of the loop share the budget of a slice. When it is used up, all sources stop reading
// until a later slice.
func (src *source) spend() {
	steps := src.steps
	src.steps = 0
	if src.pays.Spend(&src.sub.chores, steps) {
		return
	}
	for _, o := range src.sub.sources {
		if o.contact.state == contactReady {
			o.pays.Rest(&o.sub.chores, o.pause, o.resume)
		}
	}
}

// sourceLane is what a subscriber knows of one lane of a publisher.
type sourceLane struct {
	received tagmap.Map[received]
	kept     int  // of received, when it was last pruned
	pruning  bool // received is being pruned

	messages uint64 // received, since the publisher was first met
	told     uint64 // of those, on this connection
	here     bool   // acknowledged on this connection
}

// lane returns the state of the lane with a number.
func (src *source) lane(number uint16) *sourceLane {
	for int(number) >= len(src.lanes) {
		src.lanes = append(src.lanes, new(sourceLane))
	}
	return src.lanes[number]
}

// minPrune is the number of tags below which a lane forgets none.
const minPrune = 1024

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

// subRequest is a subscription as one publisher knows it.
type subRequest = request.Request[*Subscription]

// note takes over a change of a request, and finds the targets of messages anew.
func (src *source) note(r *subRequest) {
	src.requests.Note(r)
	src.version++
}
