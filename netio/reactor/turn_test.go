// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/netio/reactor"
)

// prepareFunc is a PrepareWaiter.
type prepareFunc func() bool

func (f prepareFunc) PrepareWait() bool { return f() }

// flusher is a Source that is also a PrepareWaiter.
type flusher struct {
	sourceFunc
	prepareFunc
}

func TestEventLoop_servesReadyDescriptorsRoundRobin(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			const sources, rounds = 200, 5
			config.MaxEvents = 8
			loop := newLoop(t, config)
			served := make([]int, sources)
			total := 0
			for i := range sources {
				register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(e reactor.Events) {
					if e != reactor.Readable {
						t.Errorf("events: got %v, want readable", e)
					}
					served[i]++
					total++
					if served[i] > slices.Min(served)+1 {
						t.Errorf("source %d is served the %d. time, others were only %d times",
							i, served[i], slices.Min(served))
						loop.Stop()
					}
					if total == sources*rounds {
						loop.Stop()
					}
				}))
			}
			run(t, loop)
			if slices.Min(served) != rounds {
				t.Errorf("callbacks per source: got %d to %d, want %d", slices.Min(served), slices.Max(served), rounds)
			}
			if got, want := loop.Stats().Turns, uint64(sources*rounds/config.MaxEvents); got < want {
				t.Errorf("turns: got %d, want at least %d", got, want)
			}
		})
	}
}

func TestEventLoop_Post_doesNotStarveDescriptors(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop := newLoop(t, config)
			const queue = 100_000
			posted := 0
			for range queue {
				loop.Post(func() { posted++ })
			}
			before := -1
			register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(reactor.Events) {
				before = posted
				loop.Stop()
			}))
			run(t, loop)
			if before < 0 || before > 1000 {
				t.Errorf("posted functions run before the ready descriptor: got %d of %d, want at most 1000", before, queue)
			}
			if posted != queue {
				t.Errorf("posted functions run: got %d, want all %d", posted, queue)
			}
		})
	}
}

func TestEventLoop_Post_ofAFunctionByItselfStarvesNoOthers(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop := newLoop(t, config)
			var again func()
			again = func() { loop.Post(again) }
			loop.Post(again)
			startOnce(t, newTimer(t, loop, loop.Stop), 5*time.Millisecond)
			// Run ends although the queue never becomes empty.
			run(t, loop)
		})
	}
}

func TestPrepareWaiter_isTheEndOfEachTurn(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop := newLoop(t, config)
			var got []string
			note := func(what string) { got = append(got, what) }
			signal := newSignal(t, loop, reactor.Coalescing, func() {
				note("signal")
				loop.Post(func() {
					note("post")
					loop.Stop()
				})
			})
			if _, err := loop.AddPrepare(prepareFunc(func() bool {
				note("prepare")
				if len(got) == 2 {
					signal.Fire()
				}
				return true
			})); err != nil {
				t.Fatal(err)
			}
			loop.Post(func() { note("first post") })
			run(t, loop)
			want := []string{"first post", "prepare", "signal", "post", "prepare", "prepare"} // the last one is that of Run's end
			if !cmp.Equal(got, want) {
				t.Errorf("order of callbacks: %s", cmp.Diff(want, got))
			}
		})
	}
}

func TestPrepareWaiter_falseKeepsTheLoopAwake(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			const polls = 1000
			loop := newLoop(t, config)
			calls, others := 0, 0
			var sleeps uint64
			if _, err := loop.AddPrepare(prepareFunc(func() bool {
				calls++
				switch {
				case calls < polls:
					return false
				case calls == polls:
					sleeps = loop.Stats().Sleeps
					go func() {
						for loop.Stats().Sleeps == 0 {
							runtime.Gosched()
						}
						loop.Stop()
					}()
				}
				return true
			})); err != nil {
				t.Fatal(err)
			}
			if _, err := loop.AddPrepare(prepareFunc(func() bool { others++; return true })); err != nil {
				t.Fatal(err)
			}
			run(t, loop)
			if sleeps != 0 {
				t.Errorf("sleeps while PrepareWait said false: got %d, want 0", sleeps)
			}
			if calls < polls || others != calls {
				t.Errorf("calls: got %d and %d, want at least %d, and the same for each", calls, others, polls)
			}
			if got := loop.Stats().Sleeps; got == 0 {
				t.Error("the loop never slept, though PrepareWait said true in the end")
			}
		})
	}
}

func TestPrepareWaiter_ofASource(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop, _ := started(t, config)
			prepared := make(chan struct{}, 1000)
			fd := eventfd(t, 0)
			events := 0
			s := flusher{
				func(reactor.Events) { reset(fd); events++ },
				func() bool { prepared <- struct{}{}; return true },
			}
			r := register(t, loop, fd, reactor.Readable, s)
			await(t, prepared, "PrepareWait of a source that was registered while the loop slept")
			onLoop(t, loop, func() {
				if err := r.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				clear := len(prepared)
				for range clear {
					<-prepared
				}
			})
			for range 10 {
				onLoop(t, loop, func() {})
			}
			onLoop(t, loop, func() {
				if n := len(prepared); n != 0 || events != 0 {
					t.Errorf("after Close: got %d PrepareWaits and %d events, want none", n, events)
				}
			})
		})
	}
}

func TestPrepareWaiter_theListChangesWhileItIsCalled(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop := newLoop(t, config)
			var second *reactor.Registration
			firstCalls, secondCalls, thirdCalls := 0, 0, 0
			prepare := func(f func()) *reactor.Registration {
				r, err := loop.AddPrepare(prepareFunc(func() bool { f(); return true }))
				if err != nil {
					t.Errorf("AddPrepare: %v", err)
				}
				return r
			}
			prepare(func() {
				if firstCalls++; firstCalls > 1 {
					return
				}
				if err := second.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				prepare(func() {
					thirdCalls++
					loop.Stop()
				})
			})
			second = prepare(func() { secondCalls++ })
			if err := second.Modify(reactor.Readable); err == nil {
				t.Error("Modify of a prepare: got nil, want an error")
			}
			run(t, loop)
			if secondCalls != 0 {
				t.Errorf("the closed one was called %d times, want 0", secondCalls)
			}
			if thirdCalls == 0 {
				t.Error("the new one was not called")
			}
		})
	}
}
