// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"tagbus/netio/reactor"
)

func TestEventLoop_busyPollFindsEventsWithoutSleeping(t *testing.T) {
	tests := []struct {
		name string
		wait reactor.WaitMode
	}{
		{"netpoll", reactor.WaitNetpoll},
		{"thread", reactor.WaitThread},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			loop := newLoop(t, reactor.Config{Wait: test.wait, BusyPoll: patience})
			const wanted = 20
			count := 0
			var again *reactor.Timer
			again = newTimer(t, loop, func() {
				if count++; count == wanted {
					loop.Stop()
					return
				}
				startOnce(t, again, 50*time.Microsecond)
			})
			startOnce(t, again, 50*time.Microsecond)
			run(t, loop)
			stats := loop.Stats()
			if stats.Sleeps != 0 || stats.Spinning == 0 {
				t.Errorf("got %d sleeps and %v of spinning, want no sleep", stats.Sleeps, stats.Spinning)
			}
			if stats.Turns > 4*wanted {
				t.Errorf("turns: got %d, want about %d: spinning is no turn", stats.Turns, wanted)
			}
		})
	}
}

// TestEventLoop_busyPollNoticesOtherGoroutines: neither Post nor Stop makes a system call
// while the loop spins.
func TestEventLoop_busyPollNoticesOtherGoroutines(t *testing.T) {
	loop, stop := started(t, reactor.Config{BusyPoll: patience})
	for range 100 {
		onLoop(t, loop, func() {})
	}
	stop()
	if got := loop.Stats().Wakeups; got != 0 {
		t.Errorf("wake-ups by system call: got %d, want 0", got)
	}
}

func TestEventLoop_busyPollStopsAfterALongPause(t *testing.T) {
	// Long ones: on a busy machine the thread may not run for some milliseconds, which
	// count as spinning.
	const limit, pause, pauses = 20 * time.Millisecond, 60 * time.Millisecond, 10
	loop := newLoop(t, reactor.Config{BusyPoll: limit})
	count := 0
	again := newTimer(t, loop, func() {
		if count++; count == pauses {
			loop.Stop()
		}
	})
	start(t, again, pause)
	run(t, loop)
	// It spins before the first pause, and finds that it is long.
	if got := loop.Stats(); got.Spinning > pauses/2*limit || got.Spinning == 0 {
		t.Errorf("spinning in %d pauses of %v: got %v, want once %v", pauses, pause, got.Spinning, limit)
	}
}
