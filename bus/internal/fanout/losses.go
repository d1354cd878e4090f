// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/ring"
	"tagbus/subscription"
	"tagbus/tags"
)

// lose notes that count messages of a tag are lost to the lane at this place of its
// queue. Outbox.mu is held.
func (n *Lane) lose(cause subscription.Cause, tag tags.Tag, count uint64) {
	n.Account.Add(cause, tag, count)
	queue := &n.queue
	if n.corked {
		queue = &n.held
	}
	if queue.Len() == 0 || !queue.Back().lost() {
		queue.Push(n.notice())
	}
	queue.Back().note.losses.Add(cause, tag, count)
}

// notice returns a notice of losses of the lane that is empty.
func (n *Lane) notice() item { return item{note: &note{lane: n, losses: &ledger.Notice{}}} }

// losePage notes that the lane does not get a page, of which the caller keeps the
// reference. Then it pumps, so that the notice goes out if nothing is ahead of it.
func (n *Lane) losePage(cause subscription.Cause, p *page) {
	n.out.mu.Lock()
	defer n.out.mu.Unlock()
	if n.out.dead {
		n.dropped += uint64(p.messages)
		p.receipt.settle(ErrLost, true)
		return
	}
	p.receipt.settle(n.out.fan.cfg.LossError(cause), true)
	p.tags(func(tag tags.Tag, count uint64) { n.lose(cause, tag, count) })
	n.out.pump()
}

// loseMessages notes that the lane does not get messages of a tag that have
// not come into a page.
func (n *Lane) loseMessages(cause subscription.Cause, tag tags.Tag, count uint64) {
	n.out.mu.Lock()
	defer n.out.mu.Unlock()
	if n.out.dead {
		n.dropped += count
		return
	}
	n.lose(cause, tag, count)
	n.out.pump()
}

// dropOldest drops the pages that wait longest to make room, and reports whether there
// is enough now. Pages in flight cannot be dropped.
func (n *Lane) dropOldest(need, want int64) bool {
	box := n.out
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.dead {
		return false // Kill empties the queues, without a lock
	}
	return n.dropFrom(&n.queue, need, want) || n.dropFrom(&n.held, need, want)
}

// dropFrom drops the first pages of a queue until there is enough room, and reports
// whether there is. Outbox.mu is held.
func (n *Lane) dropFrom(queue *ring.Ring[item], need, want int64) bool {
	for i := 0; ; {
		cause := n.shortOf(need, want)
		if cause == 0 {
			return true
		}
		for i < queue.Len() && queue.At(i).page == nil {
			i++
		}
		if i == queue.Len() {
			return false
		}
		p := n.loseAt(cause, queue, i)
		if i > 0 && queue.At(i-1).lost() {
			queue.At(i - 1).note.losses.Merge(queue.At(i).note.losses)
			queue.Remove(i)
		}
		n.drop(p)
	}
}

// loseAt replaces a waiting page by a notice of its losses, and returns the page.
// Outbox.mu is held.
func (n *Lane) loseAt(cause subscription.Cause, queue *ring.Ring[item], i int) *page {
	x := queue.At(i)
	p := x.page
	n.out.forget(p.receipt)
	p.receipt.settle(n.out.fan.cfg.LossError(cause), true)
	*x = n.notice()
	p.tags(func(tag tags.Tag, count uint64) {
		n.Account.Add(cause, tag, count)
		x.note.losses.Add(cause, tag, count)
	})
	return p
}
