// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// newDueBed returns a fanout of which many streams have something under construction, and
// a clock that stands still. A page waits for a millisecond.
func newDueBed(t *testing.T, streams int) (b *bytesBed, clock *int64) {
	t.Helper()
	const pageBytes = 256
	pool, err := netio.NewPool(2*streams, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	b = newBytesBed(t, subscription.Policy{}, streams, Config{Pool: pool, PageBytes: pageBytes, QueueBytes: 1 << 16, MaxMessageBytes: 100})
	clock = new(int64)
	*clock = int64(time.Hour)
	b.fan.now = func() int64 { return *clock }
	b.publishAll(streams)
	b.loop.turn()
	return b, clock
}

func (b *bytesBed) publishAll(streams int) {
	for tag := range tags.Tag(streams) {
		if err := b.fan.Publish(tag, 0, nil, nil); err != nil {
			b.t.Fatal(err)
		}
	}
}

// open returns how many streams have a page under construction.
func (b *bytesBed) open() (n int) {
	for _, s := range *b.fan.streams.Load() {
		if s.page != nil {
			n++
		}
	}
	return n
}

// However many streams are due at once, a turn of the loop has a bounded part of them.
func TestATurnOfTheLoopSendsForAFewStreams(t *testing.T) {
	const streams = 10*dueAtOnce + 1
	b, clock := newDueBed(t, streams)
	*clock += int64(time.Millisecond)
	turns := 0
	b.fan.flushDue()
	for left := streams; left > 0; turns++ {
		now := b.open()
		if left-now > dueAtOnce {
			t.Fatalf("turn %d sends for %d streams, want at most %d", turns, left-now, dueAtOnce)
		}
		if left = now; left > 0 && len(b.loop.posted) != 1 {
			t.Fatalf("%d streams are left, and %d turns are posted", left, len(b.loop.posted))
		}
		b.loop.next()
	}
	if turns != 11 || len(b.loop.posted) > 0 {
		t.Errorf("got %d turns and %d more, want 11", turns, len(b.loop.posted))
	}
}

// A round of turns ends with the streams that there were at its beginning: those that are
// not due, and those that come meanwhile, wait for the timer.
func TestARoundOfTurnsEnds(t *testing.T) {
	const streams = 3 * dueAtOnce
	b, clock := newDueBed(t, streams)
	*clock += int64(time.Millisecond) - 1
	b.fan.flushDue()
	for range 2 {
		b.loop.next()
	}
	if n := b.open(); n != streams || len(b.loop.posted) > 0 || b.fan.due.timer != *clock+1 {
		t.Errorf("%d of %d pages are open, %d turns are posted, the timer is set to %v; want all, none, and the next nanosecond",
			n, streams, len(b.loop.posted), b.fan.due.timer-*clock)
	}
	*clock++
	b.fan.flushDue() // the first of three turns
	b.publishAll(dueAtOnce)
	for len(b.loop.posted) > 0 {
		b.loop.next()
	}
	if n := b.open(); n != dueAtOnce || b.fan.due.timer != *clock+int64(time.Millisecond) {
		t.Errorf("%d pages are open, the timer is set to %v; want %d and 1ms", n, time.Duration(b.fan.due.timer-*clock), dueAtOnce)
	}
}

// A stream that comes in a turn of a round, of which more turns follow, and is due soon, is not forgotten for the
// others, which are due later.
func TestTheTimerOfAStreamThatComesInARoundIsKept(t *testing.T) {
	const streams = 2 * dueAtOnce
	b, clock := newDueBed(t, streams+1)
	s := b.fan.tags.Get(streams).route.Load().only
	b.fan.due.list, s.scheduled = b.fan.due.list[:streams], false
	b.fan.flushDue()
	b.fan.due.posted = false // as before the end of the turn
	b.fan.schedule(int64(50*us), s)
	b.fan.due.posted = true
	for len(b.loop.posted) > 0 {
		b.loop.next()
	}
	if wait := time.Duration(b.fan.due.timer - *clock); wait > 50*us {
		t.Errorf("the loop comes in %v, want 50µs", wait)
	}
}
