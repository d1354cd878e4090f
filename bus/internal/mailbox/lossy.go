// SPDX-License-Identifier: Apache-2.0

package mailbox

import "tagbus/subscription"

// lossyPart is the part of a block for boxes that drop messages. A dropped message
// stays, without key, until the block is compacted.
type lossyPart[K comparable] struct {
	keys    []K       // of the messages; zero: dropped
	dropped int       // what the dropped messages count
	tight   bool      // with Latest: the block was full, and has one message of each key
	newest  map[K]int // while tight: which it is
}

// PushLossy copies a message into the box. If the box is full, messages are lost: with
// DropOldest those that wait longest, with Latest all but the newest of each key,
// otherwise the new one. Those that Next made ready stay as they are. After Close the
// message is dropped, and does not count as lost.
//
//   - key: not the zero value.
//   - lost: called for each message that is lost; it must not call the box.
//   - Result: false if the message itself is lost.
func (b *Box[K, M]) PushLossy(key K, m M, data []byte, lost func(K)) (taken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return true
	}
	f := b.filling
	switch b.kind {
	case subscription.DropOldest:
		f.dropOldest(b.limit, lost)
	case subscription.Latest:
		f.keepNewest(b.limit, key, lost)
	default:
		if f.holds() >= b.limit {
			lost(key)
			return false
		}
		f.append(m, data, len(data)+MessageBytes)
		return true
	}
	if 2*f.dropped > f.cost {
		f.compact()
	}
	f.keys = append(f.keys, key)
	f.append(m, data, len(data)+MessageBytes)
	if f.tight {
		f.newest[key] = len(f.messages) - 1
	}
	return true
}

// holds returns the cost of the messages that are to be read.
func (f *block[K, M]) holds() int { return f.cost - f.dropped }

// start returns where message i begins.
func (f *block[K, M]) start(i int) int {
	if i == 0 {
		return 0
	}
	return f.ends[i-1]
}

// drop drops message i, which is not dropped yet.
func (f *block[K, M]) drop(i int, lost func(K)) {
	var none K
	key := f.keys[i]
	f.keys[i] = none
	f.dropped += f.ends[i] - f.start(i) + MessageBytes
	delete(f.newest, key)
	lost(key)
}

// dropOldest makes room for a message.
func (f *block[K, M]) dropOldest(limit int, lost func(K)) {
	for f.holds() >= limit {
		f.skipDropped()
		f.drop(f.taken, lost)
	}
}

// keepNewest makes room for a message with Latest. Once the block is full, it has one
// message of each key. If these alone are too many, the oldest are dropped.
func (f *block[K, M]) keepNewest(limit int, next K, lost func(K)) {
	if !f.tight {
		if f.holds() < limit {
			return
		}
		f.tight = true
		if f.newest == nil {
			f.newest = make(map[K]int)
		}
		for i, key := range f.keys {
			if older, ok := f.newest[key]; ok {
				f.drop(older, lost)
			}
			f.newest[key] = i
		}
	}
	if i, ok := f.newest[next]; ok {
		f.drop(i, lost)
	}
	f.dropOldest(limit, lost)
}

// skipDropped advances taken to the next message that is not dropped, or to the end.
func (f *block[K, M]) skipDropped() {
	var none K
	for f.taken < len(f.keys) && f.keys[f.taken] == none {
		f.taken++
	}
}

// compact frees the room of the dropped messages.
func (f *block[K, M]) compact() {
	var none K
	n, end, begin := 0, 0, 0
	for i, key := range f.keys {
		data := f.bytes[begin:f.ends[i]]
		begin = f.ends[i]
		if key == none {
			continue
		}
		end += copy(f.bytes[end:], data)
		f.messages[n], f.keys[n], f.ends[n] = f.messages[i], key, end
		if f.tight {
			f.newest[key] = n
		}
		n++
	}
	clear(f.messages[n:])
	clear(f.keys[n:])
	f.messages, f.keys, f.ends, f.bytes = f.messages[:n], f.keys[:n], f.ends[:n], f.bytes[:end]
	f.cost -= f.dropped
	f.taken, f.dropped = 0, 0
}

// resetLossy empties the part for the next use of the block.
func (f *block[K, M]) resetLossy() {
	clear(f.keys)
	clear(f.newest)
	f.keys, f.dropped, f.tight = f.keys[:0], 0, false
}
