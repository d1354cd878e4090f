// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"tagbus/netio/reactor"
)

// places are where callbacks run. Each calls f once, in a loop that is about to
// run.
var places = []struct {
	name string
	call func(t *testing.T, config *reactor.Config, later func(func(*reactor.EventLoop)), f func())
}{
	{"Init", func(_ *testing.T, config *reactor.Config, _ func(func(*reactor.EventLoop)), f func()) {
		config.Init = f
	}},
	{"a posted function", func(_ *testing.T, _ *reactor.Config, later func(func(*reactor.EventLoop)), f func()) {
		later(func(loop *reactor.EventLoop) { loop.Post(f) })
	}},
	{"a signal", func(t *testing.T, _ *reactor.Config, later func(func(*reactor.EventLoop)), f func()) {
		t.Helper()
		later(func(loop *reactor.EventLoop) { newSignal(t, loop, reactor.Semaphore, f).Fire() })
	}},
	{"a timer", func(t *testing.T, _ *reactor.Config, later func(func(*reactor.EventLoop)), f func()) {
		t.Helper()
		later(func(loop *reactor.EventLoop) { startOnce(t, newTimer(t, loop, f), time.Nanosecond) })
	}},
	{"a source", func(t *testing.T, _ *reactor.Config, later func(func(*reactor.EventLoop)), f func()) {
		t.Helper()
		later(func(loop *reactor.EventLoop) {
			register(t, loop, eventfd(t, 1), reactor.Readable|reactor.EdgeTriggered, sourceFunc(func(reactor.Events) { f() }))
		})
	}},
	{"PrepareWait", func(t *testing.T, _ *reactor.Config, later func(func(*reactor.EventLoop)), f func()) {
		t.Helper()
		later(func(loop *reactor.EventLoop) {
			called := false
			if _, err := loop.AddPrepare(prepareFunc(func() bool {
				if !called {
					called = true
					f()
				}
				return true
			})); err != nil {
				t.Errorf("AddPrepare: %v", err)
			}
		})
	}},
	{"OnPanic", func(_ *testing.T, config *reactor.Config, later func(func(*reactor.EventLoop)), f func()) {
		config.OnPanic = func(*reactor.Panic) { f() }
		later(func(loop *reactor.EventLoop) { loop.Post(func() { panic("to be reported") }) })
	}},
}

// eachPlace runs a loop until it is stopped, with f called in each place.
func eachPlace(t *testing.T, f func(t *testing.T, loop *reactor.EventLoop)) {
	t.Helper()
	for _, place := range places {
		t.Run("in "+place.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					config := mode.config
					var loop *reactor.EventLoop
					var prepare []func(*reactor.EventLoop)
					place.call(t, &config, func(g func(*reactor.EventLoop)) { prepare = append(prepare, g) },
						func() { f(t, loop) })
					loop = newLoop(t, config)
					for _, g := range prepare {
						g(loop)
					}
					run(t, loop)
				})
			}
		})
	}
}

// TestEventLoop_Stop_inEveryCallback: the loop ends wherever it is told to.
func TestEventLoop_Stop_inEveryCallback(t *testing.T) {
	eachPlace(t, func(_ *testing.T, loop *reactor.EventLoop) { loop.Stop() })
}

// TestEventLoop_everythingCanBeMadeInEveryCallback: what is made inside a callback works
// at once: Init sets a program up, and a connection that is accepted becomes a
// source.
func TestEventLoop_everythingCanBeMadeInEveryCallback(t *testing.T) {
	eachPlace(t, func(t *testing.T, loop *reactor.EventLoop) {
		t.Helper()
		left := 4
		done := func() {
			if left--; left == 0 {
				loop.Stop()
			}
		}
		newSignal(t, loop, reactor.Coalescing, done).Fire()
		startOnce(t, newTimer(t, loop, done), time.Microsecond)
		loop.Post(done)
		fd := eventfd(t, 1)
		register(t, loop, fd, reactor.Readable, sourceFunc(func(reactor.Events) { reset(fd); done() }))
	})
}
