// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/netio/reactor"
)

// A wake-up went through the runtime's poller, which is not asked while there
// are goroutines that can run: beside some that only give way, a post took 10 ms, in which
// they gave way ten thousands of times. The measure is how often, whatever the time.
func TestEventLoop_Post_takesItsTurnAmongThoseThatGiveWay(t *testing.T) {
	for _, procs := range []int{1, 2} {
		t.Run(fmt.Sprintf("procs=%d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			const wakeups, few = 200, 100
			loop, _ := started(t, reactor.Config{})
			var over atomic.Bool
			var others sync.WaitGroup
			for range procs { // besides this one
				others.Go(func() {
					for !over.Load() {
						runtime.Gosched()
					}
				})
			}
			var ran atomic.Int64
			count := func() { ran.Add(1) }
			var rounds []int // of the posts that find the loop asleep
			for posted := int64(1); len(rounds) < wakeups; posted++ {
				before := loop.Stats().Wakeups
				loop.Post(count)
				woken := loop.Stats().Wakeups > before
				n := 0
				for ; ran.Load() < posted; n++ {
					runtime.Gosched()
				}
				if woken {
					rounds = append(rounds, n)
				}
			}
			over.Store(true)
			others.Wait()
			// The system may take the processor away from any of them in the middle.
			slices.Sort(rounds)
			if got := rounds[wakeups*9/10]; got > few {
				t.Errorf("nine of ten posts ran after the poster gave way up to %d times (half: %d), want %d",
					got, rounds[wakeups/2], few)
			}
		})
	}
}

// TestEventLoop_Post_ofManyIsNeverOverslept: in each round some post at once, and some make an event
// before that, so that wake-ups come before, during and after the sleep that they are
// meant for. The loop has nothing else to wake for until all functions have run.
func TestEventLoop_Post_ofManyIsNeverOverslept(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			const posters = 4
			rounds := testkit.Fewer(1000)
			loop, _ := started(t, mode.config)
			fd := eventfd(t, 0)
			register(t, loop, fd, reactor.Readable|reactor.EdgeTriggered, sourceFunc(func(reactor.Events) {}))
			var begun, ran atomic.Int64
			var all sync.WaitGroup
			defer all.Wait()
			defer begun.Store(int64(rounds)) // also if one fails
			count := func() { ran.Add(1) }
			for p := range posters {
				all.Go(func() {
					for round := range rounds {
						for begun.Load() <= int64(round) {
							runtime.Gosched()
						}
						if (p+round)%posters < 2 {
							add(t, fd)
						}
						loop.Post(count)
					}
				})
			}
			for round := range int64(rounds) {
				deadline := time.Now().Add(patience)
				for begun.Store(round + 1); ran.Load() < posters*(round+1); runtime.Gosched() {
					if time.Now().After(deadline) {
						t.Fatalf("round %d: got %d functions run, want %d", round, ran.Load(), posters*(round+1))
					}
				}
			}
		})
	}
}

func TestEventLoop_wakingAllocatesNothing(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			loop, stop := started(t, mode.config)
			const warmUp, posts = 200, 5000
			ran := make(chan struct{})
			answer := func() { ran <- struct{}{} }
			var before, after runtime.MemStats
			for i := range warmUp + posts {
				if i == warmUp {
					runtime.ReadMemStats(&before)
				}
				loop.Post(answer)
				<-ran
			}
			runtime.ReadMemStats(&after)
			stop()
			expectNoAllocs(t, float64(after.Mallocs-before.Mallocs)/posts, "post from another goroutine")
			if stats := loop.Stats(); mode.config.BusyPoll == 0 && stats.Wakeups < posts/2 {
				t.Errorf("wake-ups: got %d in %d posts: the loop did not sleep", stats.Wakeups, posts)
			}
		})
	}
}
