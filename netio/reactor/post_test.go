// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/netio/reactor"
)

func TestEventLoop_Post_ofEachGoroutineRunsInOrder(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			const goroutines, each = 8, 2000
			loop, _ := started(t, config)
			var last [goroutines]int
			total := 0
			done := make(chan struct{})
			for g := range goroutines {
				go func() {
					for i := 1; i <= each; i++ {
						loop.Post(func() {
							if last[g] != i-1 {
								t.Errorf("goroutine %d: got post %d after %d", g, i, last[g])
							}
							last[g] = i
							if total++; total == goroutines*each {
								close(done)
							}
						})
					}
				}()
			}
			await(t, done, "all posts")
		})
	}
}

func TestEventLoop_Post_runsLaterAndOnTheLoop(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop := newLoop(t, config)
			inside, ran := false, false
			loop.Post(func() {
				inside = true
				loop.Post(func() {
					ran = true
					if inside {
						t.Error("a posted function runs inside Post")
					}
					if !loop.OnLoop() {
						t.Error("a posted function runs elsewhere than on the loop")
					}
					loop.Stop()
				})
				inside = false
			})
			run(t, loop)
			if !ran {
				t.Error("what a posted function posts did not run")
			}
		})
	}
}

// TestEventLoop_Post_whatIsAcceptedRuns: whatever the moment at which Stop comes, what Post
// accepts runs before Run returns, once.
func TestEventLoop_Post_whatIsAcceptedRuns(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			for range 50 {
				loop := newLoop(t, config)
				done := make(chan error, 1)
				go func() { done <- loop.Run(context.Background()) }()
				var accepted atomic.Int64
				ran := 0
				var posters sync.WaitGroup
				for range 4 {
					posters.Go(func() {
						for loop.Post(func() { ran++ }) {
							accepted.Add(1)
							runtime.Gosched()
						}
					})
				}
				loop.Post(loop.Stop)
				if err := await(t, done, "Run to return"); err != nil {
					t.Fatalf("Run: %v", err)
				}
				posters.Wait()
				if int64(ran) != accepted.Load() {
					t.Fatalf("functions run: got %d, want the %d that were accepted", ran, accepted.Load())
				}
			}
		})
	}
}

func TestEventLoop_Post_ofAStoppedLoopRuns(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			var order []string
			config.Init = func() { order = append(order, "init") }
			loop := newLoop(t, config)
			refused := false
			loop.Post(func() {
				order = append(order, "post")
				loop.Post(func() { order = append(order, "never") })
			})
			loop.Stop()
			run(t, loop)
			refused = !loop.Post(func() {})
			if len(order) < 2 || order[0] != "init" || order[1] != "post" || !refused {
				t.Errorf("got %v and refused=%v, want init, post, and true", order, refused)
			}
		})
	}
}

func TestEventLoop_Post_refusesNil(t *testing.T) {
	loop := newLoop(t, reactor.Config{})
	if loop.Post(nil) {
		t.Error("Post(nil): got true, want false")
	}
}

// TestEventLoop_Post_wakesOnce: however many post while the loop sleeps, one wakes
// it; and none if it does not sleep.
func TestEventLoop_Post_wakesOnce(t *testing.T) {
	for _, wait := range []reactor.WaitMode{reactor.WaitNetpoll, reactor.WaitThread} {
		t.Run(wait.String(), func(t *testing.T) {
			loop := newLoop(t, reactor.Config{Wait: wait})
			const posts = 1000
			count := 0
			for range posts {
				loop.Post(func() {
					loop.Post(func() {
						if count++; count == posts {
							loop.Stop()
						}
					})
				})
			}
			run(t, loop)
			if got := loop.Stats().Wakeups; got != 0 {
				t.Errorf("wake-ups of a loop that never slept: got %d, want 0", got)
			}

			loop, _ = started(t, reactor.Config{Wait: wait})
			before := loop.Stats()
			var posters sync.WaitGroup
			for range 8 {
				posters.Go(func() {
					for range 500 {
						loop.Post(func() {})
					}
				})
			}
			posters.Wait()
			onLoop(t, loop, func() {})
			since := loop.Stats().Sub(before)
			if since.Wakeups > since.Sleeps+1 {
				t.Errorf("wake-ups: got %d in %d sleeps, want at most one per sleep", since.Wakeups, since.Sleeps)
			}
		})
	}
}

// TestEventLoop_Post_isNeverOverslept posts around the moment at which the loop falls asleep.
func TestEventLoop_Post_isNeverOverslept(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			const posts = 5000
			loop, _ := started(t, mode.config)
			var ran atomic.Int64
			count := func() { ran.Add(1) }
			deadline := time.Now().Add(patience)
			for i := range int64(posts) {
				for ran.Load() < i {
					if time.Now().After(deadline) {
						t.Fatalf("post %d did not run", i)
					}
				}
				for delay := time.Now(); time.Since(delay) < time.Duration(i%40)*25; {
				}
				loop.Post(count)
			}
			onLoop(t, loop, func() {})
		})
	}
}

func TestEventLoop_Post_allocatesNothing(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop := newLoop(t, config)
			expectNoAllocs(t, allocsPer(t, loop, func(next func()) { loop.Post(next) }), "post")
		})
	}
}
