// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"tagbus/netio/reactor"
)

func TestEventLoop_Run_initRunsBeforeEverythingElse(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			var got []string
			note := func(what string) func() { return func() { got = append(got, what) } }
			config.Init = note("init")
			loop := newLoop(t, config)

			// All of these are ready before Run.
			newSignal(t, loop, reactor.Coalescing, note("signal")).Fire()
			fd := eventfd(t, 1)
			var source *reactor.Registration
			source = register(t, loop, fd, reactor.Readable, sourceFunc(func(reactor.Events) {
				note("source")()
				if err := source.Modify(0); err != nil {
					t.Errorf("Modify: %v", err)
				}
			}))
			loop.Post(note("post"))
			stop := newTimer(t, loop, func() {
				note("timer")()
				loop.Stop()
			})
			startOnce(t, stop, 20*time.Millisecond)

			run(t, loop)
			if want := []string{"init", "post", "signal", "source", "timer"}; !cmp.Equal(got, want) {
				t.Errorf("order of callbacks: %s", cmp.Diff(want, got))
			}
		})
	}
}

// TestEventLoop_Stop_inEachState: TestEventLoop_Stop_inEveryCallback has the callbacks.
func TestEventLoop_Stop_inEachState(t *testing.T) {
	tests := []struct {
		name string
		stop func(loop *reactor.EventLoop)
	}{
		{"before Run", func(loop *reactor.EventLoop) { loop.Stop() }},
		{"twice before Run", func(loop *reactor.EventLoop) { loop.Stop(); loop.Stop() }},
		{"from another goroutine, while the loop sleeps", func(loop *reactor.EventLoop) {
			go func() {
				for loop.Stats().Sleeps == 0 {
					runtime.Gosched()
				}
				loop.Stop()
			}()
		}},
		{"from many goroutines", func(loop *reactor.EventLoop) {
			for range 8 {
				go loop.Stop()
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					config := mode.config
					loop := newLoop(t, config)
					test.stop(loop)
					run(t, loop)
					if loop.Post(func() {}) {
						t.Error("Post after Run: got true, want false")
					}
				})
			}
		})
	}
}

func TestEventLoop_Stop_inInit(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			var loop *reactor.EventLoop
			config.Init = func() { loop.Stop() }
			loop = newLoop(t, config)
			served := false
			newSignal(t, loop, reactor.Coalescing, func() { served = true }).Fire()
			run(t, loop)
			if served {
				t.Error("a signal was served after Stop")
			}
		})
	}
}

func TestEventLoop_Stop_noEventIsServedAfterIt(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop := newLoop(t, config)
			served := 0
			for range 10 {
				register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(reactor.Events) {
					served++
					loop.Stop()
				}))
			}
			run(t, loop)
			if served != 1 {
				t.Errorf("callbacks, the first of which stops: got %d, want 1", served)
			}
		})
	}
}

func TestEventLoop_Run_endsWithItsContext(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			reason := errors.New("end of run 1234")
			tests := []struct {
				name    string
				context func() context.Context
				want    error
			}{
				{"cancelled before Run", func() context.Context {
					ctx, cancel := context.WithCancelCause(t.Context())
					cancel(reason)
					return ctx
				}, reason},
				{"cancelled while the loop sleeps", func() context.Context {
					ctx, cancel := context.WithCancelCause(t.Context())
					time.AfterFunc(5*time.Millisecond, func() { cancel(reason) })
					return ctx
				}, reason},
				{"deadline", func() context.Context {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
					t.Cleanup(cancel)
					return ctx
				}, context.DeadlineExceeded},
			}
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					loop := newLoop(t, config)
					done := make(chan error, 1)
					go func() { done <- loop.Run(test.context()) }()
					if err := await(t, done, "Run to return"); !errors.Is(err, test.want) {
						t.Errorf("Run: got %v, want %v", err, test.want)
					}
				})
			}
		})
	}
}

func TestEventLoop_Run_onlyOnce(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop, stop := started(t, config)
			if err := loop.Run(t.Context()); !errors.Is(err, reactor.ErrRunning) {
				t.Errorf("Run of a running loop: got %v, want ErrRunning", err)
			}
			if err := loop.Close(); !errors.Is(err, reactor.ErrRunning) {
				t.Errorf("Close of a running loop: got %v, want ErrRunning", err)
			}
			onLoop(t, loop, func() {
				if err := loop.Close(); !errors.Is(err, reactor.ErrRunning) {
					t.Errorf("Close on the loop: got %v, want ErrRunning", err)
				}
			})
			stop()
			if err := loop.Run(t.Context()); !errors.Is(err, reactor.ErrClosed) {
				t.Errorf("Run of a loop that has run: got %v, want ErrClosed", err)
			}
			for range 2 {
				if err := loop.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			if err := loop.Run(t.Context()); !errors.Is(err, reactor.ErrClosed) {
				t.Errorf("Run of a closed loop: got %v, want ErrClosed", err)
			}
		})
	}
}

func TestEventLoop_thatIsClosedRefusesEverything(t *testing.T) {
	loop := newLoop(t, reactor.Config{})
	signal := newSignal(t, loop, reactor.Coalescing, func() {})
	timer := newTimer(t, loop, func() {})
	if err := loop.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	fd := eventfd(t, 0)
	defer unix.Close(fd)
	_, registerErr := loop.Register(fd, reactor.Readable, sourceFunc(func(reactor.Events) {}))
	_, prepareErr := loop.AddPrepare(prepareFunc(func() bool { return true }))
	_, signalErr := loop.NewSignal(reactor.Coalescing, func() {})
	_, timerErr := loop.NewTimer(func() {})
	for operation, err := range map[string]error{
		"Register": registerErr, "AddPrepare": prepareErr, "NewSignal": signalErr, "NewTimer": timerErr,
		"Timer.Start": timer.Start(time.Second), "Timer.StartOnce": timer.StartOnce(time.Second),
	} {
		if !errors.Is(err, reactor.ErrClosed) {
			t.Errorf("%s: got %v, want ErrClosed", operation, err)
		}
	}
	if loop.Post(func() {}) {
		t.Error("Post: got true, want false")
	}
	signal.Fire()
	timer.Stop()
	loop.Stop()
	if err := errors.Join(signal.Close(), timer.Close()); err != nil {
		t.Errorf("closing what the loop has closed: got %v, want nil", err)
	}
}

func TestEventLoop_OnLoop_tellsWhereACallIsMade(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop, stop := started(t, config)
			if loop.OnLoop() {
				t.Error("on another goroutine: got true, want false")
			}
			onLoop(t, loop, func() {
				if !loop.OnLoop() {
					t.Error("in a callback: got false, want true")
				}
			})
			stop()
			if loop.OnLoop() {
				t.Error("after Run: got true, want false")
			}
		})
	}
}
