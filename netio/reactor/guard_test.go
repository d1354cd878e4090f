// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"tagbus/netio/reactor"
)

// bomb is a Source that panics, and counts its calls.
type bomb struct{ calls *int }

func (bomb) Name() string             { return "bomb" }
func (b bomb) OnEvent(reactor.Events) { *b.calls++; panic("boom") }

// catch returns a config whose OnPanic collects.
func catch(config reactor.Config) (reactor.Config, *[]*reactor.Panic) {
	var panics []*reactor.Panic
	config.OnPanic = func(p *reactor.Panic) { panics = append(panics, p) }
	return config, &panics
}

func TestEventLoop_panicOfASourceDropsIt(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			config, panics := catch(config)
			loop := newLoop(t, config)
			calls, others := 0, 0
			register(t, loop, eventfd(t, 1), reactor.Readable, bomb{&calls})
			for range 5 { // the rest of the batch is served
				register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(reactor.Events) {
					if others++; others >= 50 {
						loop.Stop()
					}
				}))
			}
			run(t, loop)
			if calls != 1 || others < 50 {
				t.Errorf("callbacks: got %d and %d of others, want 1 and 50", calls, others)
			}
			if len(*panics) != 1 || loop.Stats().Panics != 1 {
				t.Fatalf("panics: got %d reported and %d counted, want 1", len(*panics), loop.Stats().Panics)
			}
			p := (*panics)[0]
			if p.Source != "bomb" || p.Value != "boom" || !p.Dropped || !strings.Contains(string(p.Stack), "bomb.OnEvent") {
				t.Errorf("report: got source %q, value %v, dropped %v and stack\n%s", p.Source, p.Value, p.Dropped, p.Stack)
			}
		})
	}
}

func TestEventLoop_panicElsewhere(t *testing.T) {
	boom := func() { panic(io.ErrUnexpectedEOF) }
	tests := []struct {
		name   string
		source string // in the report
		set    func(t *testing.T, loop *reactor.EventLoop)
		want   uint64 // panics
	}{
		{"a posted function is gone", "posted function tagbus/netio/reactor_test.TestEventLoop_panicElsewhere", func(_ *testing.T, loop *reactor.EventLoop) {
			loop.Post(boom)
			loop.Post(boom)
		}, 2},
		{"a signal answers its next fire", "signal tagbus/netio/reactor_test.TestEventLoop_panicElsewhere", func(t *testing.T, loop *reactor.EventLoop) {
			t.Helper()
			s := newSignal(t, loop, reactor.Semaphore, boom)
			for range 3 {
				s.Fire()
			}
		}, 3},
		{"a timer ticks on", "timer tagbus/netio/reactor_test.TestEventLoop_panicElsewhere", func(t *testing.T, loop *reactor.EventLoop) {
			t.Helper()
			ticks := 0
			var timer *reactor.Timer
			timer = newTimer(t, loop, func() {
				if ticks++; ticks == 3 {
					timer.Stop()
				}
				boom()
			})
			start(t, timer, 100e3)
		}, 3},
		{"a prepare is called again", "reactor_test.prepareFunc", func(t *testing.T, loop *reactor.EventLoop) {
			t.Helper()
			calls := 0
			if _, err := loop.AddPrepare(prepareFunc(func() bool {
				if calls++; calls <= 2 {
					loop.Post(func() {})
					boom()
				}
				return true
			})); err != nil {
				t.Error(err)
			}
		}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					config := mode.config
					config, panics := catch(config)
					loop := newLoop(t, config)
					test.set(t, loop)
					stopAfter(t, loop, func() bool { return loop.Stats().Panics >= test.want })
					run(t, loop)
					if got := loop.Stats().Panics; got != test.want || len(*panics) != int(test.want) {
						t.Fatalf("panics: got %d counted and %d reported, want %d", got, len(*panics), test.want)
					}
					for _, p := range *panics {
						if !strings.HasPrefix(p.Source, test.source) {
							t.Errorf("source: got %q, want %q", p.Source, test.source)
						}
					}
					if last := (*panics)[len(*panics)-1]; !errors.Is(last, io.ErrUnexpectedEOF) {
						t.Errorf("the panic as error: got %v, want one that wraps its value", last)
					}
				})
			}
		})
	}
}

func TestEventLoop_Run_panicInInitEndsIt(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			config, panics := catch(config)
			config.Init = func() { panic("no set-up") }
			loop := newLoop(t, config)
			err := loop.Run(t.Context())
			var p *reactor.Panic
			if !errors.As(err, &p) || p.Source != "init callback" || p.Value != "no set-up" {
				t.Errorf("Run: got %v, want the panic", err)
			}
			if len(*panics) != 1 {
				t.Errorf("reports: got %d, want 1", len(*panics))
			}
		})
	}
}

func TestEventLoop_onPanicMayStopTheLoop(t *testing.T) {
	var loop *reactor.EventLoop
	loop = newLoop(t, reactor.Config{OnPanic: func(*reactor.Panic) { loop.Stop() }})
	loop.Post(func() { panic("boom") })
	run(t, loop)
}

func TestEventLoop_onPanicMayCrash(t *testing.T) {
	loop := newLoop(t, reactor.Config{OnPanic: func(p *reactor.Panic) { panic(p) }})
	loop.Post(func() { panic("boom") })
	defer func() {
		if p, ok := recover().(*reactor.Panic); !ok || p.Value != "boom" {
			t.Errorf("panic of Run: got %v, want that of OnPanic", p)
		}
	}()
	_ = loop.Run(t.Context())
	t.Error("Run returned, want the panic to pass")
}

func TestEventLoop_panicIsLoggedWithoutOnPanic(t *testing.T) {
	log, text := logger()
	loop := newLoop(t, reactor.Config{Logger: log})
	loop.Post(func() { panic("boom") })
	loop.Post(loop.Stop)
	run(t, loop)
	for _, want := range []string{"level=ERROR", "boom", "TestEventLoop_panicIsLogged", "guard_test.go"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("log: got %q, want %q in it", text, want)
		}
	}
}
