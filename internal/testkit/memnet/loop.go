// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/internal/goroutine"
	"tagbus/netio"
)

// Loop is a netio.Loop without file descriptors: one goroutine, a queue and
// timers of package time. Inside a testing/synctest bubble it is durably
// blocked when it has nothing to do, and its timers follow the fake clock.
// Timers that end at the same instant run in the order in which they were
// started, so that a run with one loop is deterministic. A function that calls
// runtime.Goexit, as testing.T.FailNow does, ends the loop as Close does.
//
// Make it with NewLoop, inside the bubble in which it is used.
type Loop struct {
	wake chan struct{} // of one place: work came, or the loop was closed
	done chan struct{} // closed when the goroutine has ended

	goroutine atomic.Uint64
	calls     atomic.Bool // a function

	mu     sync.Mutex
	queue  []func()
	timers timerHeap
	starts uint64 // of timers, orders those of one instant
	frozen bool
	closed bool
}

// NewLoop starts a loop. Close ends it.
func NewLoop() *Loop {
	l := &Loop{wake: make(chan struct{}, 1), done: make(chan struct{})}
	ready := make(chan struct{})
	go func() {
		defer goroutine.EnterLoop()()
		l.goroutine.Store(goroutine.ID())
		close(ready)
		l.run()
	}()
	<-ready
	return l
}

// Post implements netio.Loop. A function for which it returned true runs even
// if the loop is closed meanwhile.
func (l *Loop) Post(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.queue = append(l.queue, f)
	l.wakeUp()
	return true
}

// OnLoop reports whether the caller runs on the loop's goroutine.
//
// A loop that waits calls nothing: then the number of the caller, which takes a while to find out, is another.
func (l *Loop) OnLoop() bool { return l.calls.Load() && goroutine.ID() == l.id() }

// id returns the number of the loop's goroutine.
func (l *Loop) id() uint64 { return l.goroutine.Load() }

// OnAnyLoop reports whether the caller runs on the goroutine of a loop of this process.
func (*Loop) OnAnyLoop() bool { return goroutine.OnLoop() }

// Do runs f on the loop and waits for it. It returns false, without running f,
// if the loop has ended.
//
// Threads: any but the loop, which would wait for itself.
func (l *Loop) Do(f func()) bool {
	ran := make(chan struct{})
	if !l.Post(func() { defer close(ran); f() }) {
		return false
	}
	<-ran
	return true
}

// Freeze holds the loop as a stopped process is held: the function that runs
// ends, and no other begins until Thaw. Time goes on. Threads: any.
func (l *Loop) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = true
}

// Thaw undoes Freeze.
func (l *Loop) Thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = false
	l.wakeUp()
}

// Close runs what was posted, ends the loop and waits until it has ended. From
// then on, Post returns false and no timer fires. A frozen loop thaws. On the
// loop itself it does not wait. The second call only waits.
func (l *Loop) Close() {
	l.mu.Lock()
	l.closed = true
	l.frozen = false
	l.wakeUp()
	l.mu.Unlock()
	if !l.OnLoop() {
		<-l.done
	}
}

// wakeUp needs l.mu.
func (l *Loop) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *Loop) run() {
	through := false
	defer func() {
		if !through {
			l.goexit()
		}
	}()
	for {
		f, wait, ok := l.next()
		switch {
		case !ok:
			through = true
			close(l.done)
			return
		case f != nil:
			l.calls.Store(true)
			f()
			l.calls.Store(false)
		case wait < 0:
			<-l.wake
		default:
			t := time.NewTimer(wait)
			select {
			case <-l.wake:
			case <-t.C:
			}
			t.Stop()
		}
	}
}

// goexit ends the loop whose goroutine ends in a function that has called
// runtime.Goexit: what was posted runs on another one.
func (l *Loop) goexit() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	go func() {
		defer goroutine.EnterLoop()()
		l.goroutine.Store(goroutine.ID())
		l.run()
	}()
}

// next returns what to run, or nil and how long to wait for a timer (negative:
// no timer runs). ok is false when the loop has ended.
func (l *Loop) next() (f func(), wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen {
		return nil, -1, true
	}
	wait = -1
	if len(l.timers) > 0 && !l.closed {
		t := l.timers[0]
		// A timer that has ended goes first: functions that post each other
		// must not hold it up.
		if wait = time.Until(t.when); wait <= 0 {
			l.advance(t)
			return t.f, 0, true
		}
	}
	switch {
	case len(l.queue) > 0:
		f = l.queue[0]
		l.queue[0] = nil
		l.queue = l.queue[1:]
		return f, 0, true
	case l.closed:
		return nil, 0, false
	default:
		return nil, wait, true
	}
}

// advance sets the timer that has ended to its next end, or stops it. A period
// that was missed, because the loop was frozen or busy, is not made up for.
func (l *Loop) advance(t *timer) {
	if t.period == 0 {
		heap.Remove(&l.timers, t.index)
		return
	}
	missed := time.Since(t.when) / t.period
	t.when = t.when.Add(t.period * (missed + 1))
	t.start = l.starts
	l.starts++
	heap.Fix(&l.timers, t.index)
}

var _ netio.Loop = (*Loop)(nil)
