package fanout

import (
	"sync"
	"time"
)

// dueList has the streams with something under construction that the loop is to send, and
// knows when the loop comes.
type dueList struct {
	mu     sync.Mutex
	list   []*stream
	spare  []*stream // memory for the next list
	posted bool      // the loop comes at once
	timer  int64     // it comes then; 0: no timer is started
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

// flushDue sends what is due. Loop only.
func (fan *Fanout) flushDue() {
	d := &fan.due
	d.mu.Lock()
	list := d.list
	d.list, d.spare, d.posted, d.timer = d.spare[:0], nil, false, 0
	for _, s := range list {
		s.scheduled = false
	}
	d.mu.Unlock()
	now, next := fan.now(), int64(0)
	again := list[:0]
	for _, s := range list {
		if wait := s.turn(now); wait > 0 {
			again = append(again, s)
			if next == 0 || wait < next {
				next = wait
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(again)
	clear(list)
	d.spare = list[:0]
	if next > 0 {
		fan.callLoop(next)
	}
}

// Flush queues all pages under construction, and what policies keep back, and sends them
// on this goroutine if that is possible.
func (fan *Fanout) Flush() {
	for _, s := range *fan.streams.Load() {
		s.flush()
	}
}
