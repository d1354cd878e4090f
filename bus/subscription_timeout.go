package bus

import (
	"container/heap"
	"time"
)

// deadlines are subscriptions by the end of their patience. Loop only.
type deadlines []*Subscription

// Len implements heap.Interface.
func (d deadlines) Len() int { return len(d) }

// Less implements heap.Interface.
func (d deadlines) Less(i, j int) bool { return d[i].due.Before(d[j].due) }

// Swap implements heap.Interface.
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (d *deadlines) Push(x any) {
	sub := x.(*Subscription)
	*d = append(*d, sub)
	sub.place = len(*d)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := (*d)[len(*d)-1]
	(*d)[len(*d)-1] = nil
	*d = (*d)[:len(*d)-1]
	last.place = 0
	return last
}

// startPatience begins to wait for the first acknowledgement of a
// subscription. Loop only.
func (s *Subscriber) startPatience(sub *Subscription) {
	if sub.cfg.Timeout > 0 {
		sub.due = time.Now().Add(sub.cfg.Timeout)
		heap.Push(&s.deadlines, sub)
		s.checkPatience()
	}
}

// stopPatience ends that wait. Loop only.
func (s *Subscriber) stopPatience(sub *Subscription) {
	if sub.place > 0 {
		heap.Remove(&s.deadlines, sub.place-1)
	}
}

// maxGivenUp is how many subscriptions end at once: many may have begun together.
const maxGivenUp = 256

// checkPatience ends the subscriptions that nobody has acknowledged in time, and
// sets the timer for the next. Loop only.
func (s *Subscriber) checkPatience() {
	now := time.Now()
	for ended := 0; len(s.deadlines) > 0; ended++ {
		sub := s.deadlines[0]
		if sub.due.After(now) || ended == maxGivenUp {
			if err := s.patience.StartOnce(max(time.Microsecond, sub.due.Sub(now))); err != nil {
				s.event(Event{Kind: Problem, Err: err})
			}
			return
		}
		s.stopPatience(sub)
		s.giveUp(sub)
	}
}

// giveUp ends a subscription that no publisher has acknowledged.
func (s *Subscriber) giveUp(sub *Subscription) {
	if sub.closed.Swap(true) {
		return
	}
	err := &NoPublisherError{Tags: sub.live, Waited: sub.cfg.Timeout}
	for _, src := range s.sources {
		if r := src.requests[sub.id]; r != nil && r.denied != nil {
			err.Err = r.denied
		}
	}
	sub.settle(err)
	if sub.queue != nil {
		sub.queue.close(err)
	}
	s.remove(sub)
	s.event(Event{Kind: Problem, Tags: sub.live, Err: err})
}
