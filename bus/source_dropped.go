// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
)

// A publisher knows what did not reach a subscriber. What has reached it and was lost there,
// in the queue of a subscription or by a handler that panicked, only the subscriber knows.
// It tells the publisher, which all tools ask.

// drop counts messages of a tag that were received and are lost. What a full queue supersedes
// for the policy Latest is left out on purpose, and is told to no publisher. Loop only.
//
//   - cause: ledger.Queue or ledger.Panic.
func (src *source) drop(policy PolicyKind, lane uint16, rcv *received, tag tags.Tag, cause subscription.Cause, n uint64) {
	s := src.sub
	rcv.tally.Drop(cause, n)
	if policy == Latest && cause == ledger.Queue {
		s.counters.superseded.Add(n)
		src.superseded += n
		return
	}
	src.addLost(cause, n)
	src.lane(lane).dropping.Add(cause, tag, n)
	s.reportSoon()
}

// reportSoon has report called after a while, unless it is about to be called. Loop only.
func (s *Subscriber) reportSoon() {
	if !s.reporting {
		s.reporting = true
		s.alarms.Set(&s.reports, reportInterval)
	}
}

// report tells of what is not told at once: the user by events, and the publishers. Loop only.
func (s *Subscriber) report() {
	s.reporting = false
	s.gaps.Report()
	for _, src := range s.sources {
		src.tellDropped()
	}
}

// tellDropped tells the publisher what this side has lost of what it has received, if that is
// more than last time, and the publisher takes it. A publisher that does not read what it is
// sent is told later.
func (src *source) tellDropped() {
	if !src.takesDropped || src.contact.ep == nil || !src.contact.Ready() {
		return
	}
	for number, n := range src.lanes {
		switch {
		case !n.got.Here() || !n.dropping.Pending(): // the lane is not acknowledged; nothing is new
		case src.out.Waits() && !src.parted && !src.leaving:
			src.sub.reportSoon()
			return
		default:
			src.tellReceivedOf(uint16(number)) // what is dropped was received
			n.dropping.News(func(cause subscription.Cause, messages uint64, named []tags.Tag) {
				src.send(&subscription.Dropped{
					Lane: uint16(number), Cause: cause, Messages: messages, List: n.droppedOf(cause, named),
				})
			})
		}
	}
}

// droppedOf returns the totals of tags as a list.
func (n *sourceLane) droppedOf(cause subscription.Cause, named []tags.Tag) []byte {
	var list positions.List
	for _, tag := range named {
		rcv := n.received.Get(tag)
		if rcv == nil {
			continue // it is forgotten meanwhile
		}
		if lost := rcv.tally.Lost(); lost[cause] > 0 { // else it is forgotten, and wanted again
			list.Add(subscription.Position{Tag: tag, Count: lost[cause]})
		}
	}
	return list.Take()
}
