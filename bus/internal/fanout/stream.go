// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"runtime"
	"sync"
	"time"

	"tagbus/bus/internal/arena"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// stream makes the pages of all tags that the same set of lanes wants. A message is
// copied once, into the page under construction. The page is queued by reference at every
// lane of the set.
type stream struct {
	fan   *Fanout
	lanes []*Lane // fixed; ascending ids
	lossy bool    // all lanes are
	solo  *solo   // set if the only lane's policy decides message by message
	quick int     // the largest payload for publishQuick; -1: none, because of the cache

	mu       sync.Mutex
	page     *page   // under construction, or nil
	held     []int64 // bytes reserved for it at each lane; -cause: for that the lane is not going to get it
	end      place   // of what was put into it, if it is large
	writer   wire.Writer
	tail     arena.Tail
	run      []arena.Piece // memory for takePage
	fresh    bool          // nothing is written in run yet
	filling  filling       // of run
	warmth   warmth
	last     int // bytes of the last page
	closed   bool
	receipt  *Receipt // of the message that is being appended, until it is in a page
	messages uint64   // accepted
	bytes    uint64   // of these
	pace

	// Guarded by Fanout.Mu.
	mark, order uint64 // see routes
	routes      int    // that lead to the stream
	used        int    // of these, how many tags use
	locking     uint64 // the last round of lockAll that it was in
}

// lock locks mu for publishing.
func (s *stream) lock() {
	if !s.mu.TryLock() {
		s.lockContended()
	}
}

// backoff is how long a goroutine that finds mu locked keeps away from it.
const (
	backoff      = 5 * time.Microsecond
	backoffLooks = 256 // at the clock, which may stand still (testing/synctest)
)

// lockContended locks mu, which another publishing goroutine holds. That one usually
// publishes again, faster than two that take the memory of the page from each other for
// each message. So this one lets it publish some hundreds first.
func (s *stream) lockContended() {
	now := s.fan.now // s itself is in the memory to keep away from
	for range 2 {
		begun := now()
		for looks := 0; looks < backoffLooks && now()-begun < int64(backoff); looks++ {
		}
		if s.mu.TryLock() {
			return
		}
	}
	runtime.Gosched()
	s.mu.Lock()
}

// append publishes a message to the stream's lanes. mu is held.
//
// Errors: ErrNoRoom, ErrStopped, Config.Unowned; then nothing is published.
func (s *stream) append(tag tags.Tag, status wire.Status, position uint64, data []byte) error {
	if s.page != nil && s.solo == nil && s.writer.Append(tag, status, position, data) {
		if n := s.writer.Messages; n <= s.watch && (n&(n-1) == 0 || n == s.told) {
			s.grown()
		}
	} else {
		if s.closed {
			return ErrStopped
		}
		if len(s.lanes) == 0 && s.fan.cfg.Unowned != nil {
			return s.fan.cfg.Unowned
		}
		if s.lacks(len(data)) {
			if err := s.fan.open(askFor(len(data)), s); err != nil {
				return err
			}
		}
		s.commit(tag, status, position, data)
	}
	s.messages++
	s.bytes += uint64(len(data))
	return nil
}

// lacks reports whether a message of n bytes needs a new page. If so, it has sealed
// the old one. mu is held.
func (s *stream) lacks(n int) bool {
	if len(s.lanes) == 0 || s.solo != nil || s.fits(n) {
		return false
	}
	bytes := len(s.writer.Mem)
	at := s.filled(bytes)
	s.sealPage()
	s.sentFull(at, bytes)
	return true
}

// commit publishes a message that has room, or that all lanes of the stream may lose.
// mu is held.
func (s *stream) commit(tag tags.Tag, status wire.Status, position uint64, data []byte) {
	switch {
	case len(s.lanes) == 0:
		return
	case s.solo != nil:
		s.solo.take(tag, status, position, data)
		return
	case s.page == nil:
		s.loseAll(tag)
		return
	}
	if s.fresh {
		s.fresh = false
		s.warm()
	}
	s.fill(tag, status, position, data)
}

// warm prepares the memory of the page, in which nothing is written yet. mu is held.
func (s *stream) warm() {
	s.filling = filling{}
	if !arena.Cold(s.run...) {
		return
	}
	if s.filling = s.warmth.begin(s.fan.now()); s.filling.clears() {
		arena.Warm(s.run...)
	}
}

// loseAll notes that no lane gets a message, for want of memory. mu is held.
func (s *stream) loseAll(tag tags.Tag) {
	for _, n := range s.lanes {
		n.loseMessages(subscription.CauseMemory, tag, 1)
	}
}

// fill puts a message into the page, which has room for it. mu is held.
func (s *stream) fill(tag tags.Tag, status wire.Status, position uint64, data []byte) {
	acked := s.receipt.of(tag, position)
	if acked {
		s.page.receipt, s.receipt = s.receipt, nil
	}
	if s.page.large() {
		s.commitLarge(tag, status, position, data)
		return
	}
	s.writer.Append(tag, status, position, data)
	switch {
	case acked: // it must be the last of its page, and a caller waits
		s.direct = s.few()
		s.sealPage()
		s.direct = false
	case s.writer.Messages == 1:
		s.begun()
	}
}

// commitLarge fills a page of several pieces with one message. They travel as
// one transport message, so that the subscriber has it in one piece.
func (s *stream) commitLarge(tag tags.Tag, status wire.Status, position uint64, data []byte) {
	s.writer.Header(tag, status, position, len(data))
	s.end = s.page.put(place{offset: len(s.writer.Mem)}, data)
	at := s.filled(len(data))
	s.sealPage() // without the messages that the policy keeps: this may be part of writing them
	s.sentFull(at, len(data))
}

// seal ends everything under construction and queues it. mu is held.
func (s *stream) seal() {
	if s.solo != nil {
		before := s.batch
		s.batch = true
		s.solo.drain()
		s.batch = before
	}
	s.sealPage()
}

// sealPage ends the page under construction and queues it. mu is held.
func (s *stream) sealPage() {
	p := s.page
	if p == nil {
		return
	}
	s.page = nil
	s.fan.arena.Written(&s.tail, p.complete(&s.writer, s.end))
	s.writer.Mem = nil // for publishQuick there is no room
	s.last = p.bytes
	s.sealed += p.messages
	p.refs.Store(int32(len(s.lanes)) + 1) // one for this function: there may be no lane that takes the page
	tell := false
	for i, n := range s.lanes {
		if s.held[i] < 0 {
			n.losePage(subscription.Cause(-s.held[i]), p)
			s.fan.release(p)
			continue
		}
		tell = n.unpin(s.held[i]-int64(p.bytes)) || tell
		if n.enqueue(p, s.bulk || s.direct && p.bytes <= directBytes) {
			s.directs++
		}
	}
	s.fan.release(p)
	if tell {
		s.fan.roomFreed()
	}
	s.fan.memoryFreed() // the rest of the run
}
