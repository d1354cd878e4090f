// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"sync/atomic"
	"testing"

	"tagbus/netio/reactor"
)

// mailbox is a Watcher whose news are a number that another goroutine writes.
type mailbox struct {
	published atomic.Uint64
	armed     atomic.Bool
	late      func() // called by Arm before it looks

	seen, turns, arms, refusals uint64 // on the loop
	taken                       func(*mailbox)
}

func (m *mailbox) Watch() bool { return m.published.Load() != m.seen }

func (m *mailbox) Arm() bool {
	m.arms++
	if m.late != nil {
		m.late()
	}
	m.armed.Store(true)
	if !m.Watch() {
		return true
	}
	m.armed.Store(false)
	m.refusals++
	return false
}

func (m *mailbox) PrepareWait() bool {
	m.armed.Store(false)
	if at := m.published.Load(); at != m.seen {
		m.seen = at
		m.turns++
		m.taken(m)
	}
	return true
}

func addPrepare(t *testing.T, loop *reactor.EventLoop, p reactor.PrepareWaiter) {
	t.Helper()
	if _, err := loop.AddPrepare(p); err != nil {
		t.Fatal(err)
	}
}

// A loop that spins finds what another goroutine has written to memory: there is no descriptor, and
// no post.
func TestWatcher_isSeenByALoopThatSpins(t *testing.T) {
	const wanted = 100
	loop := newLoop(t, reactor.Config{BusyPoll: patience})
	m := &mailbox{taken: func(m *mailbox) {
		if m.seen == wanted {
			loop.Stop()
		}
	}}
	addPrepare(t, loop, m)
	loop.Post(func() {
		go func() {
			for range wanted {
				m.published.Add(1)
			}
		}()
	})
	run(t, loop)
	if m.seen != wanted || m.arms != 0 || m.turns == 0 {
		t.Errorf("got %d of %d in %d turns, and %d calls of Arm, want none", m.seen, wanted, m.turns, m.arms)
	}
}

// News that come before a loop is armed are found without a wake-up, and it is armed before each sleep.
func TestWatcher_isArmedBeforeTheLoopBlocks(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			loop := newLoop(t, mode.config)
			const wanted = 50
			m := &mailbox{taken: func(m *mailbox) {
				if m.seen == wanted {
					loop.Stop()
				}
			}}
			m.late = func() { m.published.Add(1) } // just before it asks to be woken
			addPrepare(t, loop, m)
			run(t, loop)
			stats := loop.Stats()
			if m.seen != wanted || stats.Sleeps != 0 || m.refusals == 0 && mode.config.BusyPoll == 0 {
				t.Errorf("got %d of %d, %d sleeps, %d refusals to sleep", m.seen, wanted, stats.Sleeps, m.refusals)
			}
		})
	}
}

// Each sleep has a call of Arm before it.
func TestWatcher_everySleepIsArmed(t *testing.T) {
	m := &mailbox{taken: func(*mailbox) {}}
	loop := newLoop(t, reactor.Config{})
	addPrepare(t, loop, m)
	const pauses = 5
	count := 0
	var again *reactor.Timer
	again = newTimer(t, loop, func() {
		if count++; count == pauses {
			loop.Stop()
			return
		}
		startOnce(t, again, 1)
	})
	startOnce(t, again, 1)
	run(t, loop)
	if sleeps := loop.Stats().Sleeps; m.arms < sleeps || sleeps == 0 {
		t.Errorf("got %d calls of Arm for %d sleeps", m.arms, sleeps)
	}
}

// A Watcher that has news all the time leaves descriptors, and with them timers, their turn.
func TestWatcher_newsWithoutEndLeaveTimersTheirTurn(t *testing.T) {
	loop := newLoop(t, reactor.Config{BusyPoll: patience})
	m := &mailbox{taken: func(m *mailbox) { m.published.Add(1) }}
	addPrepare(t, loop, m)
	m.published.Add(1)
	count := 0
	var again *reactor.Timer
	again = newTimer(t, loop, func() {
		if count++; count == 5 {
			loop.Stop()
			return
		}
		startOnce(t, again, 1)
	})
	startOnce(t, again, 1)
	run(t, loop)
	if count != 5 {
		t.Errorf("got %d calls of the timer, want 5", count)
	}
}
