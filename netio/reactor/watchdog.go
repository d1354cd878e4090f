// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/internal/goroutine"
)

// Stall is a report of callbacks that keep the loop from its other work. It is
// made while they do.
type Stall struct {
	Source    string        // what runs now: name of a source, timer, signal or function
	For       time.Duration // at least so long so far
	Callbacks uint64        // 1: one callback blocks; more: so many together take too long
	Stack     string        // of the loop, now: where it hangs
}

const (
	samplesPerLimit = 4
	maxStackBytes   = 1 << 20
)

// watchdog samples which callback runs. It has no goroutine of its own: a timer
// of the runtime starts the samples. When a sample finds that the loop has done
// nothing since the last one it was the last, until the loop arms the watchdog
// at its next turn; so an idle loop is left alone.
type watchdog struct {
	loop  *EventLoop
	armed atomic.Bool // a sample is to come

	mu       sync.Mutex // held during a sample
	timer    *time.Timer
	interval time.Duration
	ended    bool

	// Of the last sample.
	running uint64 // as EventLoop.running; 0: the loop waited
	turn    uint64

	since     time.Duration // running was first seen then
	turnSince time.Duration // turn was first seen at work then
	turnBegin uint64        // sequence at that time
	reported  uint64        // running at the last report
	turnTold  bool          // a report was made in this turn
}

func (w *watchdog) start(l *EventLoop) {
	w.loop = l
	if l.config.StallLimit < 0 {
		w.armed.Store(true) // so that the loop never does it
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interval = l.config.StallLimit / samplesPerLimit
	w.armed.Store(true)
	w.timer = time.AfterFunc(w.interval, w.sample)
}

// stop ends the watchdog; a sample that is being taken is waited for.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// arm starts the samples. Threads: the loop, once per turn, after the turn was
// counted.
func (w *watchdog) arm() {
	if !w.armed.Load() && w.armed.CompareAndSwap(false, true) {
		w.timer.Reset(w.interval)
	}
}

// sample looks at the loop once.
func (w *watchdog) sample() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	l := w.loop
	running, turn := l.running.Load(), l.counters.turns.Load()
	if running == 0 && w.running == 0 && turn == w.turn {
		// The loop counts its turn, then looks at armed. Here armed is cleared
		// first, and the turns are looked at again. So no wake-up is lost.
		w.armed.Store(false)
		if l.counters.turns.Load() == turn || !w.armed.CompareAndSwap(false, true) {
			return
		}
	}
	w.observe(running, turn, l.now())
	w.timer.Reset(w.interval)
}

// observe compares with the last sample, and reports what has lasted too long.
func (w *watchdog) observe(running, turn uint64, now time.Duration) {
	if running == 0 {
		w.running, w.turn = 0, turn
		return
	}
	if turn != w.turn || w.running == 0 {
		w.turn, w.turnSince, w.turnBegin, w.turnTold = turn, now, sequenceOf(running), false
	}
	if running != w.running {
		w.running, w.since = running, now
	}
	limit := w.loop.config.StallLimit
	switch {
	case now-w.since >= limit && w.reported != running:
		w.report(Stall{For: now - w.since, Callbacks: 1})
	case now-w.turnSince >= limit && !w.turnTold:
		w.report(Stall{For: now - w.turnSince, Callbacks: sequenceOf(running) - w.turnBegin + 1})
	}
}

func (w *watchdog) report(s Stall) {
	w.reported, w.turnTold = w.running, true
	w.loop.counters.stalls.Add(1)
	s.Source = w.loop.nameOf(indexOf(w.running))
	s.Stack = stackOf(w.loop.goroutine.Load())
	w.loop.config.OnStall(s)
}

// OnLoop reports whether the caller runs on the loop, or on its behalf. It takes some
// nanoseconds on amd64, and elsewhere microseconds, too long for a hot path. Threads: any.
func (l *EventLoop) OnLoop() bool {
	loop, other := l.self.Load(), l.onBehalf.Load()
	if loop == 0 && other == 0 {
		return false
	}
	self := goroutine.Self()
	return self != 0 && (self == loop || self == other)
}

// OnAnyLoop reports whether the caller runs on this loop or on another one of the
// process, or on the behalf of one: there it must not wait for what a loop brings about,
// because that one may be waiting for this one. It takes as long as OnLoop. Threads:
// any.
func (*EventLoop) OnAnyLoop() bool { return goroutine.OnLoop() }

// Running reports whether Run runs, down to its last callback. Threads: any.
func (l *EventLoop) Running() bool { return l.life.Load() == lifeRunning }

// Done returns a channel that is closed when the loop has ended: after the last
// callback of Run, or when a loop that never ran is closed. Running is false then.
// Threads: any.
func (l *EventLoop) Done() <-chan struct{} { return l.done }

// OnBehalf calls f, during which the calling goroutine counts as the loop for
// OnLoop and OnAnyLoop. It is for what has to be done in the place of a loop that does not
// run, one caller at a time: the next one waits.
func (l *EventLoop) OnBehalf(f func()) {
	l.behalf.Lock()
	defer l.behalf.Unlock()
	defer goroutine.EnterLoop()()
	l.onBehalf.Store(goroutine.Self())
	defer l.onBehalf.Store(0)
	f()
}

// stackOf returns the stack of another goroutine; empty if it is not within the
// first megabyte of the stacks of all.
func stackOf(id uint64) string {
	all := make([]byte, maxStackBytes)
	all = all[:runtime.Stack(all, true)]
	header := []byte(goroutine.StackHeader + strconv.FormatUint(id, 10) + " ")
	for len(all) > 0 {
		var one []byte
		one, all, _ = bytes.Cut(all, []byte("\n\n"))
		if bytes.HasPrefix(one, header) {
			return string(one)
		}
	}
	return ""
}
