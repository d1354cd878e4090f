// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"tagbus/netio/reactor"
)

// busy registers descriptors that are always ready, and returns a counter of
// their callbacks. MaxEvents is far below their number.
func busy(t *testing.T, loop *reactor.EventLoop, sources int) *int {
	t.Helper()
	callbacks := new(int)
	for range sources {
		register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(reactor.Events) { *callbacks++ }))
	}
	return callbacks
}

// TestEventLoop_servesALateSourceWithinARound: more descriptors are ready, all the
// time, than a turn serves; what becomes ready meanwhile waits for each of them
// once at most.
func TestEventLoop_servesALateSourceWithinARound(t *testing.T) {
	tests := []struct {
		name string
		come func(t *testing.T, loop *reactor.EventLoop, served func())
	}{
		{"a descriptor that is registered", func(t *testing.T, loop *reactor.EventLoop, served func()) {
			t.Helper()
			register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(reactor.Events) { served() }))
		}},
		{"a descriptor with edges", func(t *testing.T, loop *reactor.EventLoop, served func()) {
			t.Helper()
			register(t, loop, eventfd(t, 1), reactor.Readable|reactor.EdgeTriggered, sourceFunc(func(reactor.Events) { served() }))
		}},
		{"a signal", func(t *testing.T, loop *reactor.EventLoop, served func()) {
			t.Helper()
			newSignal(t, loop, reactor.Coalescing, served).Fire()
		}},
		{"a post", func(_ *testing.T, loop *reactor.EventLoop, served func()) { loop.Post(served) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					config := mode.config
					config.MaxEvents = 4
					loop := newLoop(t, config)
					const sources, after = 60, 200
					callbacks := busy(t, loop, sources)
					var came, served int
					var watch *reactor.Registration
					watch = register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(reactor.Events) {
						if *callbacks < after {
							return // until the order has settled
						}
						if err := watch.Modify(0); err != nil {
							t.Errorf("Modify: %v", err)
						}
						came = *callbacks
						test.come(t, loop, func() {
							served = *callbacks
							loop.Stop()
						})
					}))
					run(t, loop)
					if waited := served - came; waited > sources {
						t.Errorf("callbacks of others before it: got %d, want at most one of each of %d", waited, sources)
					}
				})
			}
		})
	}
}

// TestTimer_isServedAmongManyReadyDescriptors: the turns of a loop that never
// sleeps serve timers too.
func TestTimer_isServedAmongManyReadyDescriptors(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			config.MaxEvents = 4
			loop := newLoop(t, config)
			callbacks := busy(t, loop, 60)
			ticks := 0
			start(t, newTimer(t, loop, func() {
				if ticks++; ticks == 10 {
					loop.Stop()
				}
			}), time.Millisecond)
			run(t, loop)
			if *callbacks < 60 {
				t.Errorf("callbacks of the descriptors: got %d, want each served meanwhile", *callbacks)
			}
		})
	}
}

// TestEventLoop_pollingLeavesOthersTheirTurn: a signal fires itself for ever, in place of
// a function that waits in a loop of its own.
func TestEventLoop_pollingLeavesOthersTheirTurn(t *testing.T) {
	tests := []struct {
		name   string
		others func(t *testing.T, loop *reactor.EventLoop, next func())
	}{
		{"another signal", func(t *testing.T, loop *reactor.EventLoop, next func()) {
			t.Helper()
			newSignal(t, loop, reactor.Coalescing, next).Fire()
		}},
		{"a timer", func(t *testing.T, loop *reactor.EventLoop, next func()) {
			t.Helper()
			startOnce(t, newTimer(t, loop, next), time.Microsecond)
		}},
		{"a posted function", func(_ *testing.T, loop *reactor.EventLoop, next func()) { loop.Post(next) }},
		{"a descriptor", func(t *testing.T, loop *reactor.EventLoop, next func()) {
			t.Helper()
			register(t, loop, eventfd(t, 1), reactor.Readable|reactor.EdgeTriggered, sourceFunc(func(reactor.Events) { next() }))
		}},
		{"a goroutine that stops the loop", func(_ *testing.T, _ *reactor.EventLoop, next func()) { go next() }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					loop := newLoop(t, mode.config)
					polls := 0
					var poll *reactor.Signal
					poll = newSignal(t, loop, reactor.Coalescing, func() {
						if polls++; polls == 100 {
							test.others(t, loop, loop.Stop)
						}
						poll.Fire()
					})
					poll.Fire()
					run(t, loop) // ends only if the other one had its turn
					if polls < 100 {
						t.Errorf("polls: got %d, want at least 100", polls)
					}
				})
			}
		})
	}
}
