// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sub

import (
	"bytes"
	"sync"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

const (
	// queueMessages and queueBytes bound what waits for the output. One message has
	// always room.
	queueMessages = 1024
	queueBytes    = 8 << 20
)

// item is a message that waits.
type item struct {
	bus.Message
	at    time.Time     // when it arrived
	delta time.Duration // since the one before of its tag; less than zero: not known
}

// queue holds messages between the bus and the output: a slow output fills it, and the
// bus goes on.
//
// Threads: one puts, one takes, any closes.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	items   []item
	bytes   int
	put     uint64 // messages
	closed  bool   // no more come
	aborted bool   // wait waits no more
}

func newQueue() *queue {
	q := new(queue)
	q.changed.L = &q.mu
	return q
}

// offer puts a copy of an item in, or returns false if there is no room.
func (q *queue) offer(i item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.hasRoom(len(i.Data)) {
		return false
	}
	q.add(i)
	return true
}

// wait puts a copy of an item in. Blocks: while there is no room, until abort.
func (q *queue) wait(i item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.hasRoom(len(i.Data)) && !q.aborted {
		q.changed.Wait()
	}
	q.add(i)
}

func (q *queue) hasRoom(n int) bool {
	return len(q.items) == 0 || len(q.items) < queueMessages && q.bytes+n <= queueBytes
}

func (q *queue) add(i item) {
	i.Data = bytes.Clone(i.Data)
	q.items = append(q.items, i)
	q.bytes += len(i.Data)
	q.put++
	q.changed.Broadcast()
}

// take returns what waits, in the order of arrival; nothing at the end. Blocks: while
// nothing waits.
func (q *queue) take() (all []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.changed.Wait()
	}
	all, q.items, q.bytes = q.items, nil, 0
	q.changed.Broadcast()
	return all
}

// count returns how many messages were put in.
func (q *queue) count() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.put
}

// close says that no more come.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// abort ends the wait for room.
func (q *queue) abort() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.aborted = true
	q.changed.Broadcast()
}

// last knows when the last message of each tag has arrived, of at most maxTags.
type last struct{ at map[tags.Tag]time.Time }

func newLast() *last { return &last{make(map[tags.Tag]time.Time)} }

// since returns how long ago the message before of a tag has arrived, and notes the one
// that has now; less than zero if it is not known.
func (l *last) since(tag tags.Tag, now time.Time) time.Duration {
	before, ok := l.at[tag]
	if !ok && len(l.at) == maxTags {
		clear(l.at)
	}
	l.at[tag] = now
	if !ok {
		return -1
	}
	return now.Sub(before)
}
