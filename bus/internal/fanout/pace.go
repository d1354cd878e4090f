// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync/atomic"
	"time"
)

// When is a page sent that is not full? An idle connection gets a message at once. While
// messages come faster than they can be sent one by one, they gather: the loop sends what
// there is, with a pause between two pages.
//
// If messages stand alone, the publishing goroutine sends them by itself. That costs it a
// system call, and spares the wake-up of the loop. Bursts and floods are left to the loop.
// Which of them it is shows in what was before:
//
//   - The third message that comes as soon as the one before is sent makes a burst. So does
//     a second message of a page that comes as soon behind the first one.
//   - A message that the loop finds alone ends that, and so does a second one that comes
//     later.
//   - A page that was full is a flood, as long as the loop finds another one when it looks.
//   - A stream that was flushed is flushed again at the end of the next burst.
//   - A burst is as long as those before it, if they were all of one length (burst.go): then
//     the publishing goroutine sends it.
const (
	// spacing is the pause between two sends of a stream by the loop: about as long as a
	// timer is late (the slack of the system is 50 µs) and as two threads need to wake.
	spacing = 50 * time.Microsecond

	// floodTick is how often the loop looks whether a flood has ended. The last page of a
	// flood waits two ticks at most.
	floodTick = 400 * time.Microsecond

	firstCost   = 5 * time.Microsecond // of a direct send to a lane, until one was measured
	leastCost   = time.Microsecond
	mostCost    = 10 * time.Microsecond // to a lane; what takes longer did not have the processor
	directBytes = 16 << 10              // a longer page that is not full is sent by the loop: the copy takes longer than waking it
	watched     = 64                    // messages of a page after which the loop is not expected any more
)

// pace is what a stream knows of the times of its messages. Guarded by stream.mu, in
// nanoseconds of Fanout.now.
type pace struct {
	sent   int64  // when a page was sent last, or was full: the beginning of that
	done   int64  // the end of that
	due    int64  // when the loop is to send the page under construction
	opened int64  // when that was decided, with the first message
	cost   int64  // of a direct send to all lanes: the least lately
	soon   int    // pages in a row that began soon after the send before
	watch  uint32 // see publishQuick
	beside int    // other streams that get the message
	bursty bool   // messages come in bursts
	full   bool   // a page was full since the loop has looked
	asked  bool   // Flush ends the bursts
	batch  bool   // more messages follow for certain
	direct bool   // the page that is being sealed is to be sent by this goroutine
	bulk   bool   // it is full, and to be sent by this goroutine
	bulks  bulk
	bursts

	directs int // lanes to which this goroutine has sent all of it

	// left is set while something is under construction and no goroutine works on it. Then
	// the stream is in Fanout.due, or all of its lanes are busy and are going to put it
	// there. It is read without mu.
	left atomic.Bool

	scheduled bool // in Fanout.due; due.mu
}

// begun decides about a page with its first message. mu is held.
func (s *stream) begun() {
	if s.batch {
		return
	}
	now := s.fan.now()
	if s.fan.cfg.FlushInterval > 0 {
		s.leave(now, now+int64(s.fan.cfg.FlushInterval))
		return
	}
	longer := false
	if s.soon++; !s.isSoon(now) {
		s.soon = 0
		s.over()
	} else {
		s.bursty = s.bursty || s.soon > 1
		longer, s.told = s.told > 0, 0
	}
	s.full = s.full && now-s.sent <= int64(floodTick)
	switch {
	case s.full, s.asked:
		s.leave(now, now+int64(floodTick))
	case longer:
		s.leave(now, now)
	case s.foretell(now):
	case s.bursty, !s.few():
		s.leave(now, max(now, s.sent+int64(spacing)))
	case s.allBusy():
		s.due, s.watch = now, 0
		s.left.Store(true)
	default:
		s.sendNow(now)
	}
}

// isSoon reports whether the send before has just ended. It was no such send if it took long:
// then its receiver has had the processor, and this message may be what it has led to. mu is
// held.
func (s *stream) isSoon(now int64) bool { return now-s.done <= s.cost/2 && now-s.sent <= 4*s.cost }

// few reports whether the message goes to so few lanes that the publishing goroutine may
// send to all of them: it takes half of the time that a message may wait. mu is held.
func (s *stream) few() bool { return 2*s.cost*int64(1+s.beside) <= int64(spacing) }

// leave leaves the page to the loop, which sends it when it is due. mu is held.
func (s *stream) leave(now, due int64) {
	s.watch = watched
	if !s.left.Load() {
		s.left.Store(true)
		s.fan.schedule(max(0, due-now), s)
		now = s.fan.now() // waking the loop takes longer than some messages
	}
	s.opened, s.due = now, max(now, due)
}

// grown decides about a page that has 2, 4, 8 .. messages, or told. mu is held.
func (s *stream) grown() {
	if s.batch || s.full || s.asked || s.fan.cfg.FlushInterval > 0 {
		return
	}
	now := s.fan.now()
	if s.told > 0 {
		s.foretold(now)
		return
	}
	if s.writer.Messages == 2 {
		s.bursty = now-s.opened <= s.cost/2
	}
	switch {
	case now-s.due <= 2*s.cost: // the loop may still come
	case !s.few(), s.allBusy():
		s.watch = 0
	default:
		s.sendNow(now)
	}
}

// ended decides about the page at the end of a run. mu is held.
//
//   - more: another run of the same caller follows at once.
func (s *stream) ended(more bool) {
	s.batch = false
	switch {
	case !s.pending():
	case s.left.Load() && s.told > 0: // a batch that ends a burst which Publish has begun
		s.sendNow(s.fan.now())
	case s.left.Load():
	case more && s.fan.cfg.FlushInterval == 0:
		s.leave(s.fan.now(), s.fan.now()+int64(spacing))
	default:
		s.begun()
	}
}

// sendNow sends all that is under construction on this goroutine, if that is possible. mu
// is held.
func (s *stream) sendNow(now int64) {
	s.sent = now // before the send: it may wake the receiver, which then takes the processor
	s.direct, s.directs = s.few(), 0
	s.seal()
	s.direct, s.done = false, s.fan.now()
	if !s.pending() {
		s.left.Store(false) // although the loop may still come
	}
	if s.directs < len(s.lanes) {
		return // to leave a page to the loop costs next to nothing, which says nothing
	}
	// The least counts, since the goroutine may have lost the processor.
	most := int64(mostCost) * int64(len(s.lanes))
	s.cost = max(int64(leastCost), min(s.cost+s.cost/8, s.done-now, most))
}

// pending reports whether something is under construction. mu is held.
func (s *stream) pending() bool {
	return s.page != nil || s.solo != nil && s.solo.latest != nil && s.solo.latest.order.Len() > 0
}

// single reports whether what is pending is one message. mu is held.
func (s *stream) single() bool {
	n := 0
	if s.page != nil {
		n = int(s.writer.Messages)
	}
	if s.solo != nil && s.solo.latest != nil {
		n += s.solo.latest.order.Len()
	}
	return n == 1
}

// turn sends what is due, on the loop. wait is how long the rest has to wait; 0: there is
// none, or it waits for a lane.
func (s *stream) turn(now int64) (wait int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now < s.due { // or its publisher has just set that, and woken the loop before
		now = s.fan.now()
	}
	switch {
	case !s.pending():
		s.left.Store(false)
		return 0
	case s.full:
		s.full = false
		return int64(floodTick)
	case now < s.due:
		return s.due - now
	case s.allBusy():
		return 0
	}
	if s.single() {
		s.bursty = false
	}
	if 2*int64(leastCost)*int64(len(s.lanes)+s.beside) <= int64(spacing) {
		s.cost -= s.cost >> 10 // what was so expensive that it is not done any more is tried again
	}
	s.asked, s.sent, s.done = false, now, now
	s.left.Store(false)
	s.seal()
	return 0
}

// allBusy reports whether all lanes are busy: then waiting makes fuller pages and delays
// nothing. The first lane that is not busy any more has the stream sent. mu is held.
func (s *stream) allBusy() bool {
	for _, n := range s.lanes {
		if !n.busyFor(s) {
			return false
		}
	}
	return len(s.lanes) > 0
}

// flush sends all that is under construction, for a caller of Flush. What Latest keeps for a
// busy lane is sent when the lane is not busy any more.
func (s *stream) flush() {
	if !s.left.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pending() {
		return
	}
	now := s.fan.now()
	if s.solo != nil && s.solo.latest != nil && s.allBusy() {
		s.due = now // a page now would hold what is not the newest when its turn comes
		return
	}
	s.asked = s.fan.cfg.FlushInterval == 0
	s.sendNow(now)
}
