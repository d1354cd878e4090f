package bus

import (
	"encoding/binary"
	"maps"
	"slices"

	"tagbus/subscription"
	"tagbus/tags"
)

// losses are messages that a lane did not get, at one place among its pages.
type losses struct {
	cause  subscription.Cause
	counts map[tags.Tag]uint64
}

// add notes n lost messages of a tag.
func (s *losses) add(tag tags.Tag, n uint64) {
	if s.counts == nil {
		s.counts = make(map[tags.Tag]uint64)
	}
	s.counts[tag] += n
}

// merge takes over what other has.
func (s *losses) merge(other *losses) {
	for tag, n := range other.counts {
		s.add(tag, n)
	}
}

// positions returns the counts in the form of a list.
func (s *losses) positions() []subscription.Position {
	list := make([]subscription.Position, 0, len(s.counts))
	for _, tag := range slices.Sorted(maps.Keys(s.counts)) {
		list = append(list, subscription.Position{Tag: tag, Count: s.counts[tag]})
	}
	return list
}

// lose notes that n messages of a tag are not in what the lane is going to get
// next. link.mu is held.
func (n *lane) lose(cause subscription.Cause, tag tags.Tag, count uint64) {
	n.lost += count
	queue := &n.queue
	if n.corked {
		queue = &n.held
	}
	if queue.len() == 0 || queue.back().losses == nil || queue.back().losses.cause != cause {
		queue.push(item{lane: n, losses: &losses{cause: cause}})
	}
	queue.back().losses.add(tag, count)
}

// losePage notes that the lane does not get a page. It sends what it can: the
// notice, if nothing else is queued.
func (n *lane) losePage(p *page) {
	n.link.mu.Lock()
	defer n.link.mu.Unlock()
	if n.link.dead {
		n.link.pub.undelivered.Add(uint64(p.messages))
		p.receipt.settle(ErrReceiverLost, true)
		return
	}
	p.receipt.settle(causeOf(n.why()), true)
	p.tags(func(tag tags.Tag) { n.lose(n.why(), tag, 1) })
	n.link.pump()
}

// loseMessage notes that the lane does not get a message for which there was
// not even a page.
func (n *lane) loseMessage(tag tags.Tag) {
	n.link.mu.Lock()
	defer n.link.mu.Unlock()
	if n.link.dead {
		n.link.pub.undelivered.Add(1)
		return
	}
	n.lose(subscription.CauseMemory, tag, 1)
	n.link.pump()
}

// why tells what a lane lacks that has no room.
func (n *lane) why() subscription.Cause {
	if n.pinned.Load() == 0 || !n.link.pub.lossyFull(1) {
		return subscription.CauseFull
	}
	return subscription.CauseMemory
}

// dropOldest makes room for pages by dropping those that wait longest, and tells
// whether there is enough now.
func (n *lane) dropOldest(pages int64) bool {
	l := n.link
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := 0; !n.hasRoom(pages); {
		for i < n.queue.len() && n.queue.at(i).page == nil {
			i++
		}
		if i == n.queue.len() {
			return false // what is in flight cannot be dropped
		}
		cause := n.why()
		x := n.queue.at(i)
		p := x.page
		l.forget(p.receipt)
		p.receipt.settle(causeOf(cause), true)
		*x = item{lane: n, losses: &losses{cause: cause}}
		p.tags(func(tag tags.Tag) { x.losses.add(tag, 1) })
		n.lost += uint64(p.messages)
		if i > 0 && n.queue.at(i-1).losses != nil && n.queue.at(i-1).losses.cause == cause {
			n.queue.at(i - 1).losses.merge(x.losses)
			n.queue.remove(i)
		}
		n.drop(p)
	}
	return true
}

// causeOf returns the error that stands for a cause.
func causeOf(cause subscription.Cause) error {
	if cause == subscription.CauseMemory {
		return ErrPublisherMemory
	}
	return ErrTooSlow
}

// tags calls f with the tag of each message of a sealed page without positions.
func (p *page) tags(f func(tags.Tag)) {
	var tag tags.Tag
	records := p.vector[0] // of a page of several buffers there is only one message
	for offset, left := 0, p.messages; left > 0; left-- {
		head := binary.LittleEndian.Uint32(records[offset:])
		offset += 4
		if head&recordStatusBit != 0 {
			offset++
		}
		if head&recordTagBit != 0 {
			tag = tags.Tag(binary.LittleEndian.Uint64(records[offset:]))
			offset += 8
		}
		offset += int(head & recordSizeMask)
		f(tag)
	}
}
