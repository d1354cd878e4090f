// SPDX-License-Identifier: Apache-2.0

package goroutine_test

import (
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"tagbus/internal/goroutine"
)

func TestEachGoroutineHasItsNumber(t *testing.T) {
	const goroutines = 100
	var wg sync.WaitGroup
	ids := make(chan uint64, goroutines)
	for range goroutines {
		wg.Go(func() {
			id := goroutine.ID()
			if again := goroutine.ID(); again != id {
				t.Errorf("second call: got %d, want %d", again, id)
			}
			ids <- id
		})
	}
	wg.Wait()
	seen := make(map[uint64]bool)
	for range goroutines {
		id := <-ids
		if id == 0 || seen[id] {
			t.Errorf("got %d, want a number of its own", id)
		}
		seen[id] = true
	}
}

// TestSelfTellsGoroutinesThatLiveApart: it stays the same where the stack moves.
func TestSelfTellsGoroutinesThatLiveApart(t *testing.T) {
	const goroutines = 100
	selves, end := make(chan uint64, goroutines), make(chan struct{})
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			self := goroutine.Self()
			if again := deep(100); again != self {
				t.Errorf("on a stack that has grown: got %d, want %d", again, self)
			}
			selves <- self
			<-end // it lives until all have said theirs
		})
	}
	seen := make(map[uint64]bool)
	for range goroutines {
		self := <-selves
		if self == 0 || seen[self] {
			t.Errorf("got %d, want a number of its own", self)
		}
		seen[self] = true
	}
	close(end)
	wg.Wait()
}

// deep returns Self of a stack of some 100 KB.
func deep(frames int) uint64 {
	var room [1 << 10]byte
	if frames == 0 {
		return goroutine.Self()
	}
	return deep(frames-1) + uint64(room[frames])
}

func TestALoopIsOneUntilItLeavesAsOftenAsItHasEntered(t *testing.T) {
	want := func(want bool) {
		t.Helper()
		if got := goroutine.OnLoop(); got != want {
			t.Errorf("OnLoop: got %v, want %v", got, want)
		}
	}
	want(false)
	leave := goroutine.EnterLoop()
	want(true)
	again := goroutine.EnterLoop() // it does the work of another one
	var wg sync.WaitGroup
	wg.Go(func() {
		want(false) // here
		again()
	})
	wg.Wait()
	want(true)
	leave()
	want(false)
}

func BenchmarkOnLoop(b *testing.B) {
	defer goroutine.EnterLoop()()
	b.ReportAllocs()
	for b.Loop() {
		goroutine.OnLoop()
	}
}

// thrown returns the stack where a panic of f was caught.
func thrown(f func()) (stack []byte) {
	defer func() {
		_ = recover()
		stack = debug.Stack()
	}()
	f()
	return nil
}

func TestPlaceOfPanic(t *testing.T) {
	var none []int
	for name, f := range map[string]func(){
		"by a call":      func() { panic("x") },
		"of the runtime": func() { none[len(none)] = 1 },
	} {
		if got := goroutine.PlaceOfPanic(thrown(f)); !strings.HasPrefix(got, " at tagbus/internal/goroutine_test.TestPlaceOfPanic.func") || !strings.Contains(got, "goroutine_test.go:") || strings.Contains(got, " +") {
			t.Errorf("%s: got %q, want the function and the line", name, got)
		}
	}
	if got := goroutine.PlaceOfPanic(debug.Stack()); got != "" {
		t.Errorf("without a panic: got %q, want nothing", got)
	}
}
