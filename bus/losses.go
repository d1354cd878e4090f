package bus

import (
	"maps"
	"slices"

	"tagbus/bus/internal/ring"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// losses are messages that a lane does not get, at one place among its pages.
// All causes are in one, so that there are not more of them than pages however
// the causes change.
type losses struct {
	counts map[tags.Tag]lossCounts
}

// add notes n lost messages of a tag.
func (s *losses) add(cause subscription.Cause, tag tags.Tag, n uint64) {
	if s.counts == nil {
		s.counts = make(map[tags.Tag]lossCounts)
	}
	counts := s.counts[tag]
	counts[cause] += n
	s.counts[tag] = counts
}

// merge takes over what other has.
func (s *losses) merge(other *losses) {
	for tag, counts := range other.counts {
		for cause, n := range counts {
			if n > 0 {
				s.add(subscription.Cause(cause), tag, n)
			}
		}
	}
}

// take takes out the counts of at most so many tags.
func (s *losses) take(most int) losses {
	if len(s.counts) <= most {
		part := *s
		s.counts = nil
		return part
	}
	part := losses{counts: make(map[tags.Tag]lossCounts, most)}
	for tag, counts := range s.counts {
		if len(part.counts) == most {
			break
		}
		part.counts[tag] = counts
		delete(s.counts, tag)
	}
	return part
}

// all calls f with the counts of each cause in the form of a list.
func (s *losses) all(f func(subscription.Cause, []subscription.Position)) {
	sorted := slices.Sorted(maps.Keys(s.counts))
	for cause := subscription.Cause(1); cause < subscription.Causes; cause++ {
		var list []subscription.Position
		for _, tag := range sorted {
			if n := s.counts[tag][cause]; n > 0 {
				list = append(list, subscription.Position{Tag: tag, Count: n})
			}
		}
		if len(list) > 0 {
			f(cause, list)
		}
	}
}

// lose notes that count messages of a tag are not in what the lane is going to
// get next. link.mu is held.
func (n *lane) lose(cause subscription.Cause, tag tags.Tag, count uint64) {
	n.account.add(cause, tag, count)
	queue := &n.queue
	if n.corked {
		queue = &n.held
	}
	if queue.Len() == 0 || queue.Back().losses == nil {
		queue.Push(item{lane: n, losses: &losses{}})
	}
	queue.Back().losses.add(cause, tag, count)
}

// losePage notes that the lane does not get a page. It sends what it can: the
// notice, if nothing else is queued.
func (n *lane) losePage(p *page) {
	n.link.mu.Lock()
	defer n.link.mu.Unlock()
	if n.link.dead {
		n.dropped += uint64(p.messages)
		p.receipt.settle(ErrReceiverLost, true)
		return
	}
	cause := n.why()
	p.receipt.settle(gapCauses[cause], true)
	p.tags(func(tag tags.Tag, count uint64) { n.lose(cause, tag, count) })
	n.link.pump()
}

// loseMessages notes that the lane does not get messages of a tag that have
// not come into a page.
func (n *lane) loseMessages(cause subscription.Cause, tag tags.Tag, count uint64) {
	n.link.mu.Lock()
	defer n.link.mu.Unlock()
	if n.link.dead {
		n.dropped += count
		return
	}
	n.lose(cause, tag, count)
	n.link.pump()
}

// why tells what a lane lacks that has no room.
func (n *lane) why() subscription.Cause {
	if n.pinned.Load() == 0 || !n.link.pub.lossyFull(1) {
		return subscription.CauseFull
	}
	return subscription.CauseMemory
}

// dropOldest makes room for pages by dropping those that wait longest, and reports
// whether there is enough now. What is in flight cannot be dropped.
func (n *lane) dropOldest(pages int64) bool {
	l := n.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return false // kill empties the queues, without a lock
	}
	return n.dropFrom(&n.queue, pages) || n.dropFrom(&n.held, pages)
}

// dropFrom drops the first pages of a queue until there is enough room, and reports
// whether there is. link.mu is held.
func (n *lane) dropFrom(queue *ring.Ring[item], pages int64) bool {
	for i := 0; !n.hasRoom(pages); {
		for i < queue.Len() && queue.At(i).page == nil {
			i++
		}
		if i == queue.Len() {
			return false
		}
		p := n.loseAt(queue, i)
		if i > 0 && queue.At(i-1).losses != nil {
			queue.At(i - 1).losses.merge(queue.At(i).losses)
			queue.Remove(i)
		}
		n.drop(p)
	}
	return true
}

// loseAt puts what is lost with a page that waits in its place, and returns the page.
// link.mu is held.
func (n *lane) loseAt(queue *ring.Ring[item], i int) *page {
	x := queue.At(i)
	p, cause := x.page, n.why()
	n.link.forget(p.receipt)
	p.receipt.settle(gapCauses[cause], true)
	*x = item{lane: n, losses: &losses{}}
	p.tags(func(tag tags.Tag, count uint64) {
		n.account.add(cause, tag, count)
		x.losses.add(cause, tag, count)
	})
	return p
}

// tags calls f with the tag of the messages of a sealed page: once for as many as
// follow each other.
func (p *page) tags(f func(tag tags.Tag, count uint64)) {
	wire.Tags(p.vector[0], p.messages, f) // of a page of several buffers there is only one message
}
