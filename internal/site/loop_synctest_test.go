// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

// grain is the shortest time that passes on the clock of the site.
const grain = 100 * time.Microsecond

// work is what loops have done.
type work struct {
	steps   uint64        // functions that ran on the loop
	busy    time.Duration // of a processor
	longest time.Duration // of these, one step
}

// meter adds up the work of loops. Threads: any.
type meter struct {
	mu sync.Mutex
	work
}

func (m *meter) add(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps++
	m.busy += d
	m.longest = max(m.longest, d)
}

// take returns the work since the last call.
func (m *meter) take() work {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.work
	m.work = work{}
	return w
}

// loop is a loop whose steps take the time on the fake clock that a processor took for them.
type loop struct {
	*memnet.Loop
	meter *meter
	owed  time.Duration // that has not passed yet; loop only
}

func newLoop(m *meter) *loop { return &loop{Loop: memnet.NewLoop(), meter: m} }

// Post implements netio.Loop.
func (l *loop) Post(f func()) bool { return l.Loop.Post(func() { l.step(f) }) }

// NewTimer implements netio.Loop.
func (l *loop) NewTimer(f func()) (netio.Timer, error) {
	return l.Loop.NewTimer(func() { l.step(f) })
}

// begun counts the steps of all loops.
var begun atomic.Uint64

func (l *loop) step(f func()) {
	step, thread, before := begun.Add(1), unix.Gettid(), processorTime()
	f()
	d := processorTime() - before
	// Few steps are interrupted, by others on the same thread or for another thread. Their
	// time is not known.
	if begun.Load() != step || unix.Gettid() != thread {
		return
	}
	l.meter.add(d)
	if l.owed += d; l.owed >= grain {
		passes := l.owed.Truncate(grain)
		l.owed -= passes
		time.Sleep(passes)
	}
}

// processorTime returns how long a processor has run the thread of the caller. The clock of
// the bubble does not know.
func processorTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
