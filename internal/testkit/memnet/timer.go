// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"container/heap"
	"errors"
	"fmt"
	"time"

	"tagbus/netio"
)

// errTimerDuration is wrapped by the error of a timer start that makes no sense.
var errTimerDuration = errors.New("memnet: a timer needs a positive duration")

// timer is a netio.Timer of a Loop. All fields but loop and f are guarded by
// the loop's mutex.
type timer struct {
	loop   *Loop
	f      func()
	closed bool

	index  int // in the loop's heap, -1 while stopped
	when   time.Time
	period time.Duration // 0: once
	start  uint64
}

// NewTimer implements netio.Loop. It fails with netio.ErrClosed after Close.
func (l *Loop) NewTimer(f func()) (netio.Timer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, netio.ErrClosed
	}
	return &timer{loop: l, f: f, index: -1}, nil
}

// Start implements netio.Timer.
func (t *timer) Start(period time.Duration) error {
	if period <= 0 {
		return fmt.Errorf("%w, not a period of %v", errTimerDuration, period)
	}
	return t.startAt(period, period)
}

// StartOnce implements netio.Timer. A duration of 0 is the next turn.
func (t *timer) StartOnce(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%w, not %v", errTimerDuration, d)
	}
	return t.startAt(d, 0)
}

func (t *timer) startAt(d, period time.Duration) error {
	l := t.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.closed || l.closed {
		return netio.ErrClosed
	}
	t.remove()
	t.when = time.Now().Add(d)
	t.period = period
	t.start = l.starts
	l.starts++
	heap.Push(&l.timers, t)
	l.wakeUp()
	return nil
}

// Stop implements netio.Timer.
func (t *timer) Stop() {
	t.loop.mu.Lock()
	defer t.loop.mu.Unlock()
	t.remove()
}

// Close implements netio.Timer.
func (t *timer) Close() error {
	t.loop.mu.Lock()
	defer t.loop.mu.Unlock()
	t.remove()
	t.closed = true
	return nil
}

// remove needs the loop's mutex.
func (t *timer) remove() {
	if t.index >= 0 {
		heap.Remove(&t.loop.timers, t.index)
	}
}

// timerHeap orders timers by time, those of one instant by their start.
type timerHeap []*timer

// Len implements heap.Interface.
func (h timerHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h timerHeap) Less(i, j int) bool {
	if !h[i].when.Equal(h[j].when) {
		return h[i].when.Before(h[j].when)
	}
	return h[i].start < h[j].start
}

// Swap implements heap.Interface.
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop implements heap.Interface.
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = -1
	return t
}
