// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"tagbus/netio/reactor"
)

// ended runs a loop on a goroutine of its own, and waits until that has ended.
func ended(t *testing.T, loop *reactor.EventLoop) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := loop.Run(context.Background()); err != nil {
			t.Errorf("Run: got %v, want the goroutine to end in it", err)
		}
	}()
	await(t, done, "the goroutine of the loop to end")
}

// wantGoexit closes a loop and wants to hear which callback has ended it.
func wantGoexit(t *testing.T, loop *reactor.EventLoop, source string) {
	t.Helper()
	if loop.Running() || loop.OnLoop() {
		t.Errorf("Running: got %v, want false", loop.Running())
	}
	if loop.Post(func() { t.Error("a function runs that was posted after the end") }) {
		t.Error("Post: got true, want false after the end")
	}
	err := loop.Close()
	var exit *reactor.GoexitError
	if !errors.Is(err, reactor.ErrGoexit) || !errors.As(err, &exit) {
		t.Fatalf("Close: got %v, want ErrGoexit in a *GoexitError", err)
	}
	if !strings.Contains(exit.Source, source) || !strings.Contains(string(exit.Stack), "Goexit") {
		t.Errorf("got source %q and stack\n%s\nwant %q", exit.Source, exit.Stack, source)
	}
	if !strings.Contains(exit.Caller, "goexit_test.go:") {
		t.Errorf("caller: got %q, want the function in goexit_test.go", exit.Caller)
	}
	for _, want := range []string{source, "FailNow"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Close: got %q, want %q in it", err, want)
		}
	}
	if err := loop.Close(); err != nil {
		t.Errorf("second Close: got %v, want nil", err)
	}
}

// TestEventLoop_goexitInEveryCallback: the goroutine ended, Running said true for ever, and what
// had been posted did not run.
func TestEventLoop_goexitInEveryCallback(t *testing.T) {
	sources := map[string]string{
		"Init": "init callback", "a posted function": "posted function", "a signal": "signal tagbus/", "a timer": "timer tagbus/",
		"a source": "reactor_test.sourceFunc on fd", "PrepareWait": "reactor_test.prepareFunc",
		"OnPanic": "OnPanic",
	}
	for _, place := range places {
		t.Run("in "+place.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					config := mode.config
					config.Logger = slog.New(slog.DiscardHandler)
					var loop *reactor.EventLoop
					var prepare []func(*reactor.EventLoop)
					posts, prepares := 0, 0
					place.call(t, &config, func(g func(*reactor.EventLoop)) { prepare = append(prepare, g) }, func() {
						for range 3 { // accepted: they run
							if !loop.Post(func() {
								if !loop.OnLoop() {
									t.Error("OnLoop in a post after Goexit: got false, want true")
								}
								posts++
							}) {
								t.Error("Post: got false before the end")
							}
						}
						runtime.Goexit()
					})
					loop = newLoop(t, config)
					for _, g := range prepare {
						g(loop)
					}
					if _, err := loop.AddPrepare(prepareFunc(func() bool { prepares++; return true })); err != nil {
						t.Fatal(err)
					}
					ended(t, loop)
					if posts != 3 || prepares == 0 {
						t.Errorf("got %d posts and %d prepares, want 3 posts and prepares at the end", posts, prepares)
					}
					wantGoexit(t, loop, sources[place.name])
				})
			}
		})
	}
}

// TestEventLoop_goexitAgainAndAgain: what runs at the end may do the same.
func TestEventLoop_goexitAgainAndAgain(t *testing.T) {
	var reported []*reactor.Panic
	loop := newLoop(t, reactor.Config{OnPanic: func(p *reactor.Panic) { reported = append(reported, p) }})
	posts, prepares := 0, 0
	for range 600 { // more than a turn's
		loop.Post(func() {
			posts++
			runtime.Goexit()
		})
	}
	if _, err := loop.AddPrepare(prepareFunc(func() bool {
		prepares++
		runtime.Goexit()
		return true
	})); err != nil {
		t.Fatal(err)
	}
	ended(t, loop)
	if posts != 600 || prepares != 1 {
		t.Errorf("got %d posts and %d calls of PrepareWait, want 600 and 1", posts, prepares)
	}
	if len(reported) != 601 || !errors.Is(reported[0], reactor.ErrGoexit) || strings.Contains(reported[0].Error(), "panic") {
		t.Errorf("OnPanic: got %d reports, the first %v, want 601 with ErrGoexit", len(reported), reported[0])
	}
	wantGoexit(t, loop, "posted function")
}

// TestEventLoop_goexitDropsItsSource: a source that was interrupted must not be called again.
func TestEventLoop_goexitDropsItsSource(t *testing.T) {
	log, text := logger()
	loop := newLoop(t, reactor.Config{Logger: log})
	fd := eventfd(t, 1)
	r, err := loop.Register(fd, reactor.Readable, exiting{})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, loop)
	if err := r.Modify(reactor.Readable); !errors.Is(err, reactor.ErrClosed) {
		t.Errorf("Modify: got %v, want %v: it was dropped", err, reactor.ErrClosed)
	}
	if got := text.String(); !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "exiting") || !strings.Contains(got, "Goexit") {
		t.Errorf("log: got %q, want an error that names the source", got)
	}
	wantGoexit(t, loop, "exiting on fd")
	closeBoth(t, r, fd)
}

type exiting struct{}

func (exiting) OnEvent(reactor.Events) { new(testing.T).SkipNow() }
