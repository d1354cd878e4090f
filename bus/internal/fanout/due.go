// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"
	"sync"
	"time"
)

// dueList has the streams with something under construction that the loop is to send, and
// knows when the loop comes.
type dueList struct {
	mu     sync.Mutex
	list   []*stream
	spare  []*stream // memory for those of a turn
	posted bool      // the loop comes at once
	timer  int64     // it comes then; 0: no timer is started

	// The loop looks at all of list in a round of one or more turns.
	left int   // streams that the round has yet to look at
	next int64 // nanoseconds after its end in which the next one is due; 0: none
}

// schedule makes the loop send what is under construction in streams in so many
// nanoseconds.
func (fan *Fanout) schedule(wait int64, streams ...*stream) {
	d := &fan.due
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(streams)
	fan.callLoop(wait)
}

// add adds those of streams that the list has not. mu is held.
func (d *dueList) add(streams []*stream) {
	for _, s := range streams {
		if !s.scheduled {
			s.scheduled = true
			d.list = append(d.list, s)
		}
	}
}

// callLoop makes the loop call flushDue in so many nanoseconds. due.mu is held.
func (fan *Fanout) callLoop(wait int64) {
	d := &fan.due
	if d.posted {
		if d.left > 0 { // the round does not come to what was added
			d.next = soonest(d.next, max(wait, 1))
		}
		return
	}
	if wait > 0 {
		at := fan.now() + wait
		if d.timer != 0 && d.timer <= at {
			return
		}
		if fan.flushTimer.StartOnce(time.Duration(wait)) == nil {
			d.timer = at
			return
		} // without a timer the page must still go
	}
	d.posted = fan.loop.Post(fan.flushFunc)
}

// soonest returns the shorter of two waits, of which 0 is none.
func soonest(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// dueAtOnce is the number of streams that one turn of the loop looks at: some tenths of a
// millisecond, more if each has many lanes.
const dueAtOnce = 256

// take takes the next streams of the round, or the first ones of another.
func (d *dueList) take(now func() int64) (list []*stream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		d.left = len(d.list)
	} else if d.timer != 0 { // for a stream that the round does not come to
		d.next = soonest(d.next, max(d.timer-now(), 1))
	}
	n := min(d.left, dueAtOnce)
	list = append(d.spare[:0], d.list[:n]...)
	d.list = slices.Delete(d.list, 0, n)
	d.left -= n
	d.spare, d.posted, d.timer = nil, false, 0
	for _, s := range list {
		s.scheduled = false
	}
	return list
}

// flushDue sends what is due. Loop only.
func (fan *Fanout) flushDue() {
	d := &fan.due
	list := d.take(fan.now)
	now, next := fan.now(), int64(0)
	again := list[:0]
	for _, s := range list {
		if wait := s.turn(now); wait > 0 {
			again = append(again, s)
			next = soonest(next, wait)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(again)
	clear(list)
	d.spare = list[:0]
	d.next = soonest(d.next, next)
	switch next := d.next; {
	case d.left > 0:
		fan.callLoop(0)
	case next > 0:
		d.next = 0
		fan.callLoop(next)
	}
}

// Flush queues all pages under construction, and what policies keep back for lanes that are
// not busy, and sends them on this goroutine if that is possible.
func (fan *Fanout) Flush() {
	for _, s := range *fan.streams.Load() {
		s.flush()
	}
}
