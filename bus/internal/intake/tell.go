// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
)

// tellMissed tells the publisher by how much the counts of this side exceed its own, for
// the tags whose positions it has just sent.
func (in *Intake[T, G]) tellMissed(lane uint16, list []byte) {
	var missed ledger.Notice
	for p, err := range subscription.PositionsOf(list) {
		if err != nil {
			return // they were read without one before
		}
		in.Steps++
		t := in.lane(lane).tags.Get(p.Tag)
		if t == nil {
			continue
		}
		key := laneTag{lane, p.Tag}
		t.Tally.Excess(in.told[key], func(cause subscription.Cause, n uint64) { missed.Add(cause, p.Tag, n) })
		delete(in.told, key)
	}
	missed.Lists(func(cause subscription.Cause, counts []subscription.Position) {
		for list := range positions.Lists(counts) {
			in.side.Send(&subscription.Missed{Lane: lane, Cause: cause, List: list})
		}
	})
}

// Begin tells the publisher how many messages of a lane earlier connections have brought,
// when the lane is first acknowledged on this one. Missed messages are told before.
func (in *Intake[T, G]) Begin(lane uint16) {
	if total, tell := in.lane(lane).got.Begin(); tell {
		in.side.Send(&subscription.Received{Lane: lane, Messages: total})
		if in.takesDropped && in.lane(lane).dropping.Pending() { // of earlier connections
			in.side.Report()
		}
	}
}

// TellReceived tells the publisher how many messages have been received, if that is more
// than last time. Otherwise it would know only what it has given to the transport.
func (in *Intake[T, G]) TellReceived() {
	for number := range in.lanes {
		in.tellReceived(uint16(number))
	}
}

func (in *Intake[T, G]) tellReceived(lane uint16) {
	if total, tell := in.lanes[lane].got.News(); tell {
		in.side.Send(&subscription.Received{Lane: lane, Messages: total})
	}
}

// TellDropped tells the publisher what this side has lost of what it has received, if that
// is more than last time, and the publisher takes it. A publisher that does not read what
// it is sent is told later.
func (in *Intake[T, G]) TellDropped() {
	if !in.takesDropped {
		return
	}
	for number, n := range in.lanes {
		switch {
		case !n.got.Here() || !n.dropping.Pending(): // the lane is not acknowledged; nothing is new
		case in.side.Waits():
			in.side.Report()
			return
		default:
			in.tellReceived(uint16(number)) // what is dropped was received
			n.dropping.News(func(cause subscription.Cause, messages uint64, named []tags.Tag) {
				in.side.Send(&subscription.Dropped{
					Lane: uint16(number), Cause: cause, Messages: messages, List: n.dropped(cause, named),
				})
			})
		}
	}
}

// dropped returns the totals of tags as a list.
func (n *lane[T, G]) dropped(cause subscription.Cause, named []tags.Tag) []byte {
	var list positions.List
	for _, tag := range named {
		t := n.tags.Get(tag)
		if t == nil {
			continue // it is forgotten meanwhile
		}
		if lost := t.Tally.Lost(); lost[cause] > 0 { // else it is forgotten, and wanted again
			list.Add(subscription.Position{Tag: tag, Count: lost[cause]})
		}
	}
	return list.Take()
}
