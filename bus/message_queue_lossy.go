package bus

import "tagbus/tags"

// lossyPart is the part of a block for queues that drop queued messages. A dropped
// message stays, without source, until the block is compacted.
type lossyPart struct {
	sources []*source       // of the messages; nil: dropped
	dropped int             // what the dropped messages count
	tight   bool            // with Latest: the block was full, and has one message of each tag
	newest  map[origins]int // while tight: which it is
}

// origins names the messages that supersede each other.
type origins struct {
	src *source
	tag tags.Tag
}

// pushLossy copies a message into the queue of a subscription that may lose messages.
// In a full queue the policy decides which messages are lost. lost is called for each
// of these and must not call the queue. The reader's block stays as it is.
//
//   - Result: false if the message itself is lost.
func (q *messageQueue) pushLossy(kind PolicyKind, src *source, m Message, lost func(*source, tags.Tag)) (taken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return true
	}
	b := &q.filled
	switch kind {
	case DropOldest:
		b.dropOldest(q.limit, lost)
	case Latest:
		b.keepNewest(q.limit, origins{src, m.Tag}, lost)
	default:
		if b.holds() >= q.limit {
			lost(src, m.Tag)
			return false
		}
		b.append(m)
		q.wake()
		return true
	}
	if 2*b.dropped > b.size() {
		b.compact()
	}
	b.sources = append(b.sources, src)
	b.append(m)
	if b.tight {
		b.newest[origins{src, m.Tag}] = len(b.messages) - 1
	}
	q.wake()
	return true
}

// size returns the cost of the messages, including dropped ones.
func (b *messageBlock) size() int { return len(b.bytes) + messageCost*len(b.messages) }

// holds returns the cost of the messages that are to be read.
func (b *messageBlock) holds() int { return b.size() - b.dropped }

// start returns where message i begins.
func (b *messageBlock) start(i int) int {
	if i == 0 {
		return 0
	}
	return b.ends[i-1]
}

// drop drops message i, which is not dropped yet.
func (b *messageBlock) drop(i int, lost func(*source, tags.Tag)) {
	src, tag := b.sources[i], b.messages[i].Tag
	b.sources[i] = nil
	b.dropped += b.ends[i] - b.start(i) + messageCost
	delete(b.newest, origins{src, tag})
	lost(src, tag)
}

// dropOldest makes room for a message.
func (b *messageBlock) dropOldest(limit int, lost func(*source, tags.Tag)) {
	for b.holds() >= limit {
		b.skipDropped()
		b.drop(b.taken, lost)
	}
}

// keepNewest makes room for a message with Latest. Once the block is full, it has one
// message of each tag. If these alone are too many, the oldest are dropped.
func (b *messageBlock) keepNewest(limit int, next origins, lost func(*source, tags.Tag)) {
	if !b.tight {
		if b.holds() < limit {
			return
		}
		b.tight = true
		if b.newest == nil {
			b.newest = make(map[origins]int)
		}
		for i := range b.messages {
			x := origins{b.sources[i], b.messages[i].Tag}
			if older, ok := b.newest[x]; ok {
				b.drop(older, lost)
			}
			b.newest[x] = i
		}
	}
	if i, ok := b.newest[next]; ok {
		b.drop(i, lost)
	}
	b.dropOldest(limit, lost)
}

// skipDropped advances taken to the next message that is not dropped, or to the end.
func (b *messageBlock) skipDropped() {
	for b.taken < len(b.sources) && b.sources[b.taken] == nil {
		b.taken++
	}
}

// compact frees the room of the dropped messages.
func (b *messageBlock) compact() {
	n, end, begin := 0, 0, 0
	for i, src := range b.sources {
		data := b.bytes[begin:b.ends[i]]
		begin = b.ends[i]
		if src == nil {
			continue
		}
		end += copy(b.bytes[end:], data)
		b.messages[n], b.sources[n], b.ends[n] = b.messages[i], src, end
		if b.tight {
			b.newest[origins{src, b.messages[n].Tag}] = n
		}
		n++
	}
	clear(b.messages[n:])
	clear(b.sources[n:])
	b.messages, b.sources, b.ends, b.bytes = b.messages[:n], b.sources[:n], b.ends[:n], b.bytes[:end]
	b.taken, b.dropped = 0, 0
}

// resetLossy empties the part for the next use of the block.
func (b *messageBlock) resetLossy() {
	clear(b.sources)
	clear(b.newest)
	b.sources, b.dropped, b.tight = b.sources[:0], 0, false
}
