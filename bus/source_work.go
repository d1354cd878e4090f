// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/request"
	"tagbus/bus/internal/tagmap"
	"tagbus/tags"
)

// One message of a publisher, or one call of the program, may cause work for a million
// tags or many thousand subscriptions. The subscriber's work queue does it in slices.
// Meanwhile the source reads nothing, so each message is handled after the work of the
// one before.

// stepsPerTag is the cost of making an entry for a tag, or of finding its targets.
const stepsPerTag = 4

// spend counts the work caused by a message of the publisher. When the budget of a slice
// is used up, all sources stop reading until the next slice.
func (src *source) spend() {
	steps := src.steps
	src.steps = 0
	if src.share.Spend(steps) {
		return
	}
	for _, o := range src.sub.sources {
		if o.contact.Ready() {
			o.share.Rest()
		}
	}
}

// sourceLane is what a subscriber knows of one lane of a publisher.
type sourceLane struct {
	received tagmap.Pruned[received]
	got      ledger.Got // messages
	dropping ledger.Dropping
}

// lane returns the state of the lane with a number.
func (src *source) lane(number uint16) *sourceLane {
	for int(number) >= len(src.lanes) {
		src.lanes = append(src.lanes, new(sourceLane))
	}
	return src.lanes[number]
}

// prune forgets the tags of a lane that no request wants any more, if there may be
// many. If one is wanted again, the publisher sends its position.
func (src *source) prune(lane uint16) {
	cost := func() int { return src.requests.Wide(lane) } // each tag asks the wide requests
	needed := func(tag tags.Tag) bool { return src.requests.Knows(lane, tag) }
	if job := src.lane(lane).received.Prune(cost, needed); job != nil {
		src.sub.work.Add(job)
	}
}

// subRequest is a subscription as one publisher knows it.
type subRequest = request.Request[*Subscription]
