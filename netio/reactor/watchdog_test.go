// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"tagbus/netio/reactor"
)

// report returns a config whose OnStall sends.
func report(config reactor.Config, limit time.Duration) (reactor.Config, <-chan reactor.Stall) {
	stalls := make(chan reactor.Stall, 100)
	config.StallLimit = limit
	config.OnStall = func(s reactor.Stall) { stalls <- s }
	return config, stalls
}

func TestEventLoop_watchdogReportsACallbackWhileItBlocks(t *testing.T) {
	const limit = 20 * time.Millisecond
	tests := []struct {
		name   string
		source string // in the report
		set    func(t *testing.T, loop *reactor.EventLoop, block func())
	}{
		{"a posted function", "posted function tagbus/netio/reactor_test.", func(_ *testing.T, loop *reactor.EventLoop, block func()) {
			loop.Post(block)
		}},
		{"a signal", "signal tagbus/netio/reactor_test.", func(t *testing.T, loop *reactor.EventLoop, block func()) {
			t.Helper()
			newSignal(t, loop, reactor.Coalescing, block).Fire()
		}},
		{"a timer", "timer tagbus/netio/reactor_test.", func(t *testing.T, loop *reactor.EventLoop, block func()) {
			t.Helper()
			startOnce(t, newTimer(t, loop, block), time.Millisecond)
		}},
		{"a source", "reactor_test.sourceFunc on fd ", func(t *testing.T, loop *reactor.EventLoop, block func()) {
			t.Helper()
			register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(reactor.Events) { block() }))
		}},
		{"a source that has closed itself", "a source that has closed itself", func(t *testing.T, loop *reactor.EventLoop, block func()) {
			t.Helper()
			var r *reactor.Registration
			r = register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(reactor.Events) {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				block()
			}))
		}},
		{"a prepare", "reactor_test.prepareFunc", func(t *testing.T, loop *reactor.EventLoop, block func()) {
			t.Helper()
			if _, err := loop.AddPrepare(prepareFunc(func() bool { block(); return true })); err != nil {
				t.Error(err)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					config := mode.config
					config, stalls := report(config, limit)
					loop := newLoop(t, config)
					first := true
					var stall reactor.Stall
					test.set(t, loop, func() {
						if !first {
							return
						}
						first = false
						stall = await(t, stalls, "a report, while the callback blocks")
						<-time.After(3 * limit) // time for a second one
						loop.Stop()
					})
					run(t, loop)
					if !strings.HasPrefix(stall.Source, test.source) {
						t.Errorf("source: got %q, want %q", stall.Source, test.source)
					}
					if stall.For < limit || stall.Callbacks != 1 {
						t.Errorf("got %v and %d callbacks, want at least %v and 1", stall.For, stall.Callbacks, limit)
					}
					if !strings.Contains(stall.Stack, "reactor_test.await") {
						t.Errorf("stack: got\n%s\nwant the place where the callback waits", stall.Stack)
					}
					if got := loop.Stats().Stalls; got != 1 || len(stalls) != 0 {
						t.Errorf("stalls: got %d, want one per stall", got)
					}
				})
			}
		})
	}
}

func TestEventLoop_watchdogReportsInit(t *testing.T) {
	config, stalls := report(reactor.Config{}, 10*time.Millisecond)
	var stall reactor.Stall
	var loop *reactor.EventLoop
	config.Init = func() {
		stall = await(t, stalls, "a report")
		loop.Stop()
	}
	loop = newLoop(t, config)
	run(t, loop)
	if stall.Source != "init callback" {
		t.Errorf("source: got %q, want the init callback", stall.Source)
	}
}

func TestEventLoop_watchdogReportsEachStall(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			config, stalls := report(config, 10*time.Millisecond)
			loop, _ := started(t, config)
			for range 3 {
				onLoop(t, loop, func() { await(t, stalls, "a report") })
			}
			if got := loop.Stats().Stalls; got != 3 {
				t.Errorf("stalls: got %d, want 3", got)
			}
		})
	}
}

func TestEventLoop_watchdogReportsATurnOfManyCallbacks(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			deadline, got := time.Now().Add(patience), uint64(0)
			for got < 2 { // a busy machine may let one callback wait that long
				if time.Now().After(deadline) {
					t.Fatalf("callbacks: got %d, want those of the turn", got)
				}
				got = callbacksOfAStall(t, mode.config)
			}
		})
	}
}

// callbacksOfAStall returns how many callbacks the report of a turn says in which each stays far below the limit,
// and all of them together do not.
func callbacksOfAStall(t *testing.T, config reactor.Config) (callbacks uint64) {
	t.Helper()
	config, stalls := report(config, 100*time.Millisecond)
	loop := newLoop(t, config)
	for range 200 {
		loop.Post(func() {
			select {
			case s := <-stalls:
				callbacks = s.Callbacks
				loop.Stop()
			case <-time.After(2 * time.Millisecond):
			}
		})
	}
	loop.Post(func() {
		if loop.Stats().Stalls == 0 {
			t.Error("no report of a turn of 400 ms")
		}
		loop.Stop()
	})
	run(t, loop)
	return callbacks
}

func TestEventLoop_watchdogLeavesAnIdleLoopAlone(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			config, stalls := report(config, 8*time.Millisecond)
			loop, _ := started(t, config)
			for deadline := time.Now().Add(patience); loop.WatchdogArmed(); runtime.Gosched() {
				if time.Now().After(deadline) {
					t.Fatal("the watchdog keeps looking at an idle loop")
				}
			}
			onLoop(t, loop, func() { await(t, stalls, "a report after the loop was idle") })
		})
	}
}

func TestEventLoop_watchdogOff(t *testing.T) {
	config, stalls := report(reactor.Config{}, -1)
	loop := newLoop(t, config)
	loop.Post(func() {
		<-time.After(5 * time.Millisecond)
		loop.Stop()
	})
	run(t, loop)
	if len(stalls) != 0 || loop.Stats().Stalls != 0 {
		t.Error("got a report, want none")
	}
}

func TestEventLoop_stallIsLoggedWithoutOnStall(t *testing.T) {
	lines := make(lineWriter, 10)
	loop := newLoop(t, reactor.Config{StallLimit: 5 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(lines, nil))})
	loop.Post(func() {
		line := await(t, lines, "a line of the log")
		for _, want := range []string{"level=WARN", "TestEventLoop_stallIsLogged", "watchdog_test.go"} {
			if !strings.Contains(line, want) {
				t.Errorf("log: got %q, want %q in it", line, want)
			}
		}
		loop.Stop()
	})
	run(t, loop)
}

// lineWriter sends what is written.
type lineWriter chan string

func (w lineWriter) Write(line []byte) (int, error) {
	w <- string(bytes.TrimSpace(line))
	return len(line), nil
}
