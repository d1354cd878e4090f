// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"sync/atomic"
	"time"
)

// Stats is what a loop has done since Run began. All counts only grow.
type Stats struct {
	Turns     uint64 // rounds of the loop, each with one look at epoll
	Events    uint64 // callbacks of sources, timers and signals
	Posts     uint64 // posted functions run
	Wakeups   uint64 // times that Post or Stop had to wake the loop
	Sleeps    uint64 // times that the loop let itself block
	Stale     uint64 // events dropped because their registration was closed
	Abandoned uint64 // registrations whose descriptor was closed before them
	Panics    uint64 // recovered
	Stalls    uint64 // reported by the watchdog

	Registrations int // now: sources, timers, signals and prepares

	// Running is how long Run has run. Of that time the loop was asleep for
	// Asleep, looked for events without success for Spinning (Config.BusyPoll), and
	// worked for the rest.
	Running, Asleep, Spinning time.Duration

	// LongestTurn is the longest time from waking up to waiting again. Clocks
	// are read once or twice per turn, not per callback: a callback was at
	// most as long as this, and exactly as long if it was alone in its turn.
	LongestTurn time.Duration
}

// Busy returns the fraction of its time, 0 to 1, in which the loop worked. For
// the load of the last second take the difference of two Stats.
func (s Stats) Busy() float64 {
	if s.Running <= 0 {
		return 0
	}
	return float64(max(0, s.Running-s.Asleep-s.Spinning)) / float64(s.Running)
}

// Sub returns what happened since earlier. Registrations and LongestTurn stay
// as they are in s.
func (s Stats) Sub(earlier Stats) Stats {
	s.Turns -= earlier.Turns
	s.Events -= earlier.Events
	s.Posts -= earlier.Posts
	s.Wakeups -= earlier.Wakeups
	s.Sleeps -= earlier.Sleeps
	s.Stale -= earlier.Stale
	s.Abandoned -= earlier.Abandoned
	s.Panics -= earlier.Panics
	s.Stalls -= earlier.Stalls
	s.Running -= earlier.Running
	s.Asleep -= earlier.Asleep
	s.Spinning -= earlier.Spinning
	return s
}

// counters are written by the loop, except a few, and read by Stats.
type counters struct {
	turns, events, posts, sleeps, stale, panics atomic.Uint64
	wakeups, abandoned, stalls                  atomic.Uint64 // any goroutine

	// Times are nanoseconds since EventLoop.epoch.
	began, ended     atomic.Int64 // 0: not yet
	asleep, spinning atomic.Int64
	asleepSince      atomic.Int64 // 0: awake
	longest          atomic.Int64
}

// Stats returns what the loop has done so far. Threads: any, also after Close.
// Blocks: never. The numbers are read one after the other, so on a running loop
// they may differ by a turn among each other.
func (l *EventLoop) Stats() Stats {
	c := &l.counters
	s := Stats{
		Turns: c.turns.Load(), Events: c.events.Load(), Posts: c.posts.Load(),
		Wakeups: c.wakeups.Load(), Sleeps: c.sleeps.Load(),
		Stale: c.stale.Load(), Abandoned: c.abandoned.Load(),
		Panics: c.panics.Load(), Stalls: c.stalls.Load(),
		Asleep: time.Duration(c.asleep.Load()), Spinning: time.Duration(c.spinning.Load()),
		LongestTurn: time.Duration(c.longest.Load()),
	}
	l.table.mu.Lock()
	s.Registrations = l.table.live
	l.table.mu.Unlock()

	now := l.now()
	if since := c.asleepSince.Load(); since > 0 {
		s.Asleep += max(0, now-time.Duration(since))
	}
	if began := c.began.Load(); began > 0 {
		if ended := c.ended.Load(); ended > 0 {
			now = time.Duration(ended)
		}
		s.Running = now - time.Duration(began)
	}
	return s
}

// now is the time on the clock of the loop. It is never 0.
func (l *EventLoop) now() time.Duration { return time.Since(l.epoch) + 1 }
