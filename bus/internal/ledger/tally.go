// SPDX-License-Identifier: Apache-2.0

package ledger

import "tagbus/subscription"

// Tally is a subscriber's account of one tag of a publisher, over all connections: the
// other end of what a Lane counts of the tag.
//
//	Position = Delivered + Unwanted + Lost, of the causes that are on the wire, and Ended
//
// Threads: one at a time.
type Tally struct {
	Position  uint64 // of the last message that came or is known to be lost
	Delivered uint64
	Unwanted  uint64 // published or received when no subscription wanted the tag

	lost *Counts // nil: none
}

// Deliver counts the next message as delivered.
func (t *Tally) Deliver() {
	t.Position++
	t.Delivered++
}

// DeliverAll counts the next messages as delivered.
func (t *Tally) DeliverAll(messages uint64) {
	t.Position += messages
	t.Delivered += messages
}

// Decline counts the next message as unwanted.
func (t *Tally) Decline() {
	t.Position++
	t.Unwanted++
}

// Begin sets the position at which the tag begins to be wanted. Messages between the
// position so far and this one concern no subscription.
func (t *Tally) Begin(position uint64) {
	t.Unwanted += position - t.Position // whether that is more or less
	t.Position = position
}

// Lost returns what was lost, by cause.
func (t *Tally) Lost() (lost Counts) {
	if t.lost != nil {
		lost = *t.lost
	}
	return lost
}

// Lose counts the next messages as lost.
func (t *Tally) Lose(cause subscription.Cause, messages uint64) {
	t.Position += messages
	t.counts()[cause] += messages
}

// Drop counts messages that were delivered and then lost: by the queue of a subscription, or
// by its handler.
func (t *Tally) Drop(cause subscription.Cause, messages uint64) { t.counts()[cause] += messages }

// News returns how many messages of a cause the publisher has counted as lost that this
// side has not heard of.
//
//   - total: what the publisher has counted.
func (t *Tally) News(cause subscription.Cause, total uint64) uint64 {
	var known uint64
	if t.lost != nil {
		known = t.lost[cause]
	}
	return total - min(total, known)
}

// TakeOver counts messages as lost, instead of as unwanted: those of a subscription that
// was closed here before the news came. They are among the messages up to the position
// that Begin sets next.
func (t *Tally) TakeOver(cause subscription.Cause, messages uint64) {
	t.counts()[cause] += messages
	t.Unwanted -= messages
}

// Excess calls f with what this side has counted as lost and the publisher has not.
//
//   - told: what the publisher has counted; nil is nothing.
func (t *Tally) Excess(told *Counts, f func(cause subscription.Cause, messages uint64)) {
	if t.lost == nil {
		return
	}
	if told == nil {
		told = new(Counts)
	}
	for cause := subscription.Cause(1); cause < subscription.Causes; cause++ {
		if n := t.lost[cause]; n > told[cause] {
			f(cause, n-told[cause])
		}
	}
}

func (t *Tally) counts() *Counts {
	if t.lost == nil {
		t.lost = new(Counts)
	}
	return t.lost
}
