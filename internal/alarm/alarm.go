// SPDX-License-Identifier: Apache-2.0

// Package alarm calls functions at times: any number of alarms with one timer.
//
//   - Cost: Set and Cancel take O(log n) of the n alarms that are set, and allocate
//     nothing but room for more of them. Set starts the timer only for an alarm that is
//     to ring before all others; Cancel leaves it as it is. So the timer may come
//     without need, once, and a system call is rare: an alarm that is set again and again,
//     or cancelled in time, makes at most one for each period that it is set for.
//   - Threads: a Clock and its alarms belong to the loop of its timer, except Open
//     and Close.
//   - Order: by time, and in the order of Set for the same time.
package alarm

import (
	"container/heap"
	"math"
	"sync/atomic"
	"time"
)

// Timer is what a loop calls a Clock with. It comes once for each StartOnce, which
// replaces an earlier one, and not after a Close on the loop.
type Timer interface {
	StartOnce(d time.Duration) error
	Close() error
}

// Alarm calls F on the loop at a time. The zero value with F is not set. It must not
// be copied while it is set.
type Alarm struct {
	F     func()
	when  time.Duration // since the start of the clock
	turn  uint64        // of Set
	place int           // in the heap, from 1; 0: not set
}

// IsSet reports whether a is going to call F. Threads: the loop.
func (a *Alarm) IsSet() bool { return a.place > 0 }

// Clock serves any number of alarms with one timer. The zero value has yet to be opened.
type Clock struct {
	timer  Timer
	start  time.Time
	armed  time.Duration // when the timer comes, never, or ringing
	turns  uint64        // calls of Set
	heap   byTime
	closed atomic.Bool
}

const (
	ringing time.Duration = -1            // the timer is started at the end of ring
	never   time.Duration = math.MaxInt64 // the timer is not started

	// maxRings is how many alarms ring in a turn of the loop. The others ring in the
	// turns that follow.
	maxRings = 256
)

// Open gives a Clock its timer.
//
//   - newTimer: returns a stopped timer that calls ring on the loop, for example
//     netio.Loop.NewTimer.
//   - Errors: those of newTimer.
//   - Threads: one, before all other use except Close.
func Open[T Timer](c *Clock, newTimer func(ring func()) (T, error)) error {
	timer, err := newTimer(c.ring)
	if err != nil {
		return err
	}
	c.timer, c.start, c.armed = timer, time.Now(), never
	return nil
}

// Close ends the calls, and closes the timer, if there is one. After it returns on the
// loop no alarm rings; elsewhere a call that has begun may still be running. Threads:
// any, after Open.
func (c *Clock) Close() error {
	if c.timer == nil {
		return nil
	}
	c.closed.Store(true)
	return c.timer.Close()
}

// Set schedules a.F after d, replacing any earlier time. After Close it does nothing
// that shows. Threads: the loop.
func (c *Clock) Set(a *Alarm, d time.Duration) {
	now := c.now()
	c.turns++
	a.when, a.turn = now+min(max(d, 0), never-now), c.turns
	if a.IsSet() {
		heap.Fix(&c.heap, a.place-1)
	} else {
		heap.Push(&c.heap, a)
	}
	c.arm(now)
}

// Cancel undoes Set. Threads: the loop.
func (c *Clock) Cancel(a *Alarm) {
	if a.IsSet() {
		heap.Remove(&c.heap, a.place-1)
	}
}

// Late returns by how much a, which has just rung, was late. Threads: the loop.
func (c *Clock) Late(a *Alarm) time.Duration { return c.now() - a.when }

func (c *Clock) now() time.Duration { return time.Since(c.start) }

// arm starts the timer for the first alarm, unless it comes early enough as it is.
func (c *Clock) arm(now time.Duration) {
	if len(c.heap) == 0 || c.heap[0].when >= c.armed {
		return
	}
	next := c.heap[0].when
	if err := c.timer.StartOnce(max(next-now, 1)); err == nil { // else it is closed, or its loop is
		c.armed = next
	}
}

// ring calls what is due. It is what the timer calls.
func (c *Clock) ring() {
	c.armed = ringing
	defer func() { // even if a callback panics
		c.armed = never
		c.arm(c.now())
	}()
	now, last := c.now(), c.turns // what is set from here on waits for the next time
	for n := 0; n < maxRings && len(c.heap) > 0 && !c.closed.Load(); n++ {
		a := c.heap[0]
		if a.when > now || a.turn > last {
			return
		}
		heap.Pop(&c.heap)
		a.F()
	}
}

// byTime implements heap.Interface, the earliest first.
type byTime []*Alarm

// Len implements heap.Interface.
func (h byTime) Len() int { return len(h) }

// Less implements heap.Interface.
func (h byTime) Less(i, j int) bool {
	if h[i].when != h[j].when {
		return h[i].when < h[j].when
	}
	return h[i].turn < h[j].turn
}

// Swap implements heap.Interface.
func (h byTime) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (h *byTime) Push(x any) {
	a := x.(*Alarm)
	*h = append(*h, a)
	a.place = len(*h)
}

// Pop implements heap.Interface.
func (h *byTime) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	a.place = 0
	return a
}
