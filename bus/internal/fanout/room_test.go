// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/netio"
)

// Many goroutines fight for little room, as publishers do. One that gives room back
// wakes the others. A lost wake-up would leave them waiting until the deadline.
func TestNoWakeUpIsLost(t *testing.T) {
	const goroutines, rounds, tokens = 8, 3000, 2
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var w waiters
	var room, waits atomic.Int64 // room comes once one waits
	take := func() bool {
		for n := room.Load(); n > 0; n = room.Load() {
			if room.CompareAndSwap(n, n-1) {
				return true
			}
		}
		return false
	}
	takeOrWait := func() error {
		if take() {
			return nil
		}
		x := w.enter()
		defer w.leave(x)
		for !take() {
			waits.Add(1)
			if err := x.wait(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				if err := takeOrWait(); err != nil {
					t.Errorf("waited without success: %v", err)
					return
				}
				runtime.Gosched() // let the others find no room
				room.Add(1)
				w.wake()
			}
		})
	}
	for waits.Load() == 0 {
		runtime.Gosched()
	}
	room.Add(tokens)
	w.wake()
	wg.Wait()
	if n := w.count.Load(); n != 0 || len(w.list) != 0 || room.Load() != tokens {
		t.Errorf("got %d and %d waiters, room for %d; want none and %d", n, len(w.list), room.Load(), tokens)
	}
}

func TestAWakeUpReachesAllThatEntered(t *testing.T) {
	var w waiters
	a, b, c := w.enter(), w.enter(), w.enter()
	w.leave(b)
	w.wake()
	w.wake() // no waiter has looked yet: still one
	for name, x := range map[string]*waiter{"first": a, "last": c} {
		if err := x.wait(t.Context()); err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
		}
		if len(x.woken) != 0 {
			t.Errorf("%s: woken twice", name)
		}
	}
	if len(b.woken) != 0 {
		t.Errorf("one that has left was woken")
	}
	if want := []*waiter{a, c}; !slices.Equal(w.list, want) || w.count.Load() != 2 {
		t.Errorf("got %v, counted %d, want the two that have not left", w.list, w.count.Load())
	}
}

// A waiter is used again: the next one must not find a wake-up that was left over.
func TestLeavingTakesTheWakeUpAlong(t *testing.T) {
	var w waiters
	for i := range 100 {
		x := w.enter()
		if len(x.woken) != 0 {
			t.Fatalf("round %d: it was woken before it entered", i)
		}
		w.wake()
		w.leave(x)
	}
}

func TestNoTokenIsLeftWhenWakeAndLeaveMeet(t *testing.T) {
	var w waiters
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				w.wake()
			}
		}
	})
	for range 20_000 {
		x := w.enter()
		w.leave(x)
		if len(x.woken) != 0 { // this goroutine is the only one that enters
			t.Error("a wake-up came after it had left")
			break
		}
	}
	close(done)
	wg.Wait()
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	var w waiters
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	x := w.enter()
	defer w.leave(x)
	if err := x.wait(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

func TestAWakeUpWithoutWaitersTakesNoLock(*testing.T) {
	var w waiters
	w.leave(w.enter())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wake() // would deadlock
}

func TestWaitersAllocateNothingInTheLongRun(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	var w waiters
	if n := testing.AllocsPerRun(100, func() { w.leave(w.enter()) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// TestARefusalIsSeenWhereTheLastPageIsFreed refuses messages while the only page goes
// back to the pool. If the flag of a refusal is set behind the release, no wake-up ever
// comes, since nothing else is going to be freed.
func TestARefusalIsSeenWhereTheLastPageIsFreed(t *testing.T) {
	const rounds, pageBytes = 100_000, 4096
	pool, err := netio.NewPool(1, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	var fan Fanout
	fan.Init(Config{Pool: pool, PageBytes: pageBytes, QueueBytes: pageBytes})
	defer func() { _ = fan.Free() }()
	var begun, done atomic.Int64
	s := &stream{fan: &fan}
	only := &page{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range int64(rounds) {
			for begun.Load() <= i {
				runtime.Gosched()
			}
			fan.release(only)
			done.Store(i + 1)
		}
	})
	lost := 0
	for i := range int64(rounds) {
		s.takePage(pageBytes)
		s.begin(askFor(0))
		only, s.page = s.page, nil
		only.refs.Store(1)
		fan.dry.Store(false)
		begun.Store(i + 1)
		opened := fan.tryOpen(askFor(10), []*stream{s})
		for done.Load() <= i {
			runtime.Gosched()
		}
		if opened {
			s.page.refs.Store(1)
			fan.release(s.page)
			s.page = nil
		} else if fan.dry.Load() {
			lost++
		}
	}
	wg.Wait()
	if lost > 0 {
		t.Errorf("%d of %d refusals would wait for ever", lost, rounds)
	}
}
