package handover

import (
	"container/heap"
	"time"

	"tagbus/netio"
)

// Alarm calls F on the loop at a time. The zero value with F is not set.
type Alarm struct {
	F     func()
	when  time.Time
	place int // in the heap, from 1; 0: not set
}

// IsSet reports whether a is going to call F. Threads: the loop.
func (a *Alarm) IsSet() bool { return a.place > 0 }

// Alarms serves any number of alarms with one timer. Threads: the loop.
type Alarms struct {
	timer netio.Timer
	heap  alarmHeap
}

// Set schedules a.F after d, replacing any earlier time.
func (s *Alarms) Set(a *Alarm, d time.Duration) {
	a.when = time.Now().Add(d)
	if a.IsSet() {
		heap.Fix(&s.heap, a.place-1)
	} else {
		heap.Push(&s.heap, a)
	}
	if s.heap[0] == a {
		s.arm()
	}
}

// Cancel undoes Set. The timer may still expire, with nothing to do.
func (s *Alarms) Cancel(a *Alarm) {
	if a.IsSet() {
		heap.Remove(&s.heap, a.place-1)
	}
}

// arm starts the timer for the first alarm.
func (s *Alarms) arm() {
	if len(s.heap) > 0 {
		// It fails only on a closed loop, where nothing is due.
		_ = s.timer.StartOnce(max(time.Until(s.heap[0].when), 1))
	}
}

// ring calls the alarms that are due. The timer calls it.
func (s *Alarms) ring() {
	defer s.arm()
	now := time.Now()
	for len(s.heap) > 0 && !s.heap[0].when.After(now) {
		a := heap.Pop(&s.heap).(*Alarm)
		a.F()
	}
}

// alarmHeap implements heap.Interface, the earliest first.
type alarmHeap []*Alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].when.Before(h[j].when) }

func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *alarmHeap) Push(x any) {
	a := x.(*Alarm)
	*h = append(*h, a)
	a.place = len(*h)
}

func (h *alarmHeap) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	a.place = 0
	return a
}
