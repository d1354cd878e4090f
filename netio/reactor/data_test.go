// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"tagbus/netio/reactor"
)

// TestEventLoop_dataWrittenBeforeIsSeen: what a goroutine has written before it fires a
// signal or starts a timer is there in the callback, without a lock: the race
// detector agrees. The callback runs on the loop, whichever goroutine fired.
func TestEventLoop_dataWrittenBeforeIsSeen(t *testing.T) {
	type trigger func(t *testing.T, loop *reactor.EventLoop, f func()) (fire func())
	signal := func(mode reactor.SignalMode) trigger {
		return func(t *testing.T, loop *reactor.EventLoop, f func()) func() {
			t.Helper()
			return newSignal(t, loop, mode, f).Fire
		}
	}
	tests := []struct {
		name    string
		trigger trigger
	}{
		{"by a signal that coalesces", signal(reactor.Coalescing)},
		{"by a signal that is a semaphore", signal(reactor.Semaphore)},
		{"by a timer", func(t *testing.T, loop *reactor.EventLoop, f func()) func() {
			t.Helper()
			timer := newTimer(t, loop, f)
			return func() { startOnce(t, timer, time.Nanosecond) }
		}},
		{"by a post", func(_ *testing.T, loop *reactor.EventLoop, f func()) func() {
			return func() { loop.Post(f) }
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					loop, _ := started(t, mode.config)
					const rounds = 200
					data := 0 // no lock and no atomic
					seen := make(chan int)
					fire := test.trigger(t, loop, func() {
						if !loop.OnLoop() {
							t.Error("the callback runs off the loop")
						}
						seen <- data
					})
					for round := range rounds {
						data = round
						fire()
						if got := await(t, seen, "a callback"); got != round {
							t.Fatalf("data: got %d, want %d", got, round)
						}
					}
				})
			}
		})
	}
}

// TestEventLoop_eachHasItsOwnData: many signals and timers with one function, each with
// its own data.
func TestEventLoop_eachHasItsOwnData(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			loop := newLoop(t, mode.config)
			const each = 50
			counters := make([]int, 2*each)
			left := len(counters)
			count := func(data *int) func() {
				return func() {
					*data++
					if left--; left == 0 {
						loop.Stop()
					}
				}
			}
			for i := range each {
				newSignal(t, loop, reactor.SignalMode(i%2), count(&counters[i])).Fire()
				startOnce(t, newTimer(t, loop, count(&counters[each+i])), time.Microsecond)
			}
			run(t, loop)
			for i, got := range counters {
				if got != 1 {
					t.Errorf("callbacks with data %d: got %d, want 1", i, got)
				}
			}
		})
	}
}
