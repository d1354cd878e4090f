// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"tagbus/netio/reactor"
)

func TestEventLoop_Stats_countsWhatWasDone(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop, stop := started(t, config)
			s := newSignal(t, loop, reactor.Semaphore, func() {})
			newTimer(t, loop, func() {})
			onLoop(t, loop, func() {
				for range 10 {
					s.Fire()
				}
			})
			done := make(chan struct{})
			last := newSignal(t, loop, reactor.Coalescing, func() {
				if loop.Stats().Registrations == 3 {
					<-time.After(5 * time.Millisecond) // one long turn, the last one
					loop.Stop()
					close(done)
				}
			})
			<-time.After(5 * time.Millisecond) // a pause
			last.Fire()
			await(t, done, "the last signal")
			stop()

			got := loop.Stats()
			if got.Events != 11 || got.Posts != 2 || got.Registrations != 3 || got.Panics != 0 || got.Stale != 0 {
				t.Errorf("got %+v, want 11 events, 2 posts, 3 registrations", got)
			}
			if got.Turns < 3 || got.Turns > 40 {
				t.Errorf("turns: got %d, want some", got.Turns)
			}
			if got.LongestTurn < 5*time.Millisecond || got.LongestTurn > got.Running {
				t.Errorf("longest turn: got %v, want between 5ms and %v", got.LongestTurn, got.Running)
			}
			if idle := got.Asleep + got.Spinning; idle < 4*time.Millisecond || idle > got.Running {
				t.Errorf("idle: got %v of %v, want at least 4ms", idle, got.Running)
			}
			if busy := got.Busy(); busy <= 0 || busy >= 1 {
				t.Errorf("busy: got %v, want between 0 and 1", busy)
			}
			if again := loop.Stats(); again != got {
				t.Errorf("after Run: got %+v, want %+v as before", again, got)
			}
			if zero := got.Sub(got); zero.Turns != 0 || zero.Running != 0 || zero.Registrations != 3 || zero.Busy() != 0 {
				t.Errorf("Sub of the same: got %+v, want zero", zero)
			}
		})
	}
}

func TestEventLoop_Stats_whileTheLoopSleeps(t *testing.T) {
	loop, _ := started(t, reactor.Config{})
	<-time.After(5 * time.Millisecond)
	if got := loop.Stats(); got.Asleep < 2*time.Millisecond || got.Asleep > got.Running {
		t.Errorf("asleep: got %v of %v, want the sleep in progress included", got.Asleep, got.Running)
	}
}

func TestEventLoop_Stats_beforeRun(t *testing.T) {
	loop := newLoop(t, reactor.Config{})
	if got := loop.Stats(); got != (reactor.Stats{}) {
		t.Errorf("got %+v, want the zero value", got)
	}
}
