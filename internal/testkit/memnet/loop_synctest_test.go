// SPDX-License-Identifier: Apache-2.0

package memnet_test

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

// inBubble runs f in a synctest bubble with a loop that is closed at its end.
func inBubble(t *testing.T, f func(t *testing.T, l *memnet.Loop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := memnet.NewLoop()
		defer l.Close()
		f(t, l)
	})
}

// sleep lets d pass and what happens in it happen.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func newTimer(t *testing.T, l *memnet.Loop, f func()) netio.Timer {
	t.Helper()
	timer, err := l.NewTimer(f)
	if err != nil {
		t.Fatalf("NewTimer: got error %v, want none", err)
	}
	return timer
}

func TestLoopRunsPostedFunctionsInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		var got []int
		for i := range 3 {
			l.Post(func() {
				got = append(got, i)
				l.Post(func() { got = append(got, 10+i) })
				got = append(got, 100+i) // Post never runs f inside the call
			})
		}
		synctest.Wait()
		want := []int{0, 100, 1, 101, 2, 102, 10, 11, 12}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order of posted functions (-want +got):\n%s", diff)
		}
	})
}

func TestLoopCloseRunsWhatWasPostedAndThenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.NewLoop()
		ran := 0
		for range 100 {
			l.Post(func() { ran++ })
		}
		l.Close()
		if ran != 100 {
			t.Errorf("functions run by Close: got %d, want 100", ran)
		}
		if l.Post(func() { t.Error("a function posted after Close ran") }) {
			t.Error("Post after Close: got true, want false")
		}
		if l.Do(func() {}) {
			t.Error("Do after Close: got true, want false")
		}
		if _, err := l.NewTimer(func() {}); !errors.Is(err, netio.ErrClosed) {
			t.Errorf("NewTimer after Close: got error %v, want %v", err, netio.ErrClosed)
		}
		l.Close()
	})
}

func TestLoopCloseOnTheLoopDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.NewLoop()
		after := false
		l.Post(func() {
			if !l.OnLoop() {
				t.Error("OnLoop on the loop: got false, want true")
			}
			l.Close()
			after = true
		})
		l.Close()
		if !after {
			t.Error("Close returned before the function that the loop was running ended")
		}
		if l.OnLoop() {
			t.Error("OnLoop off the loop: got true, want false")
		}
	})
}

func TestTimerFollowsTheFakeClock(t *testing.T) {
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		start := time.Now()
		var got []time.Duration
		timer := newTimer(t, l, func() { got = append(got, time.Since(start)) })
		if err := timer.Start(3 * time.Second); err != nil {
			t.Fatalf("Start: got error %v, want none", err)
		}
		sleep(10 * time.Second)
		timer.Stop()
		sleep(time.Hour)
		if err := timer.StartOnce(time.Minute); err != nil {
			t.Fatalf("StartOnce: got error %v, want none", err)
		}
		sleep(time.Hour)
		want := []time.Duration{3 * time.Second, 6 * time.Second, 9 * time.Second, time.Hour + 70*time.Second}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("times of the calls (-want +got):\n%s", diff)
		}
	})
}

func TestTimersOfOneInstantFireInTheOrderOfTheirStarts(t *testing.T) {
	for range 20 { // a chance order would not repeat
		inBubble(t, func(t *testing.T, l *memnet.Loop) {
			var got []int
			var timers []netio.Timer
			for i := range 8 {
				timers = append(timers, newTimer(t, l, func() { got = append(got, i) }))
			}
			for _, timer := range slices.Backward(timers) {
				if err := timer.StartOnce(time.Second); err != nil {
					t.Fatalf("StartOnce: got error %v, want none", err)
				}
			}
			sleep(2 * time.Second)
			if diff := cmp.Diff([]int{7, 6, 5, 4, 3, 2, 1, 0}, got); diff != "" {
				t.Errorf("order of the timers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimerStoppedOnTheLoopDoesNotFire(t *testing.T) {
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		second := newTimer(t, l, func() { t.Error("a timer fired that was stopped on the loop") })
		first := newTimer(t, l, second.Stop)
		for _, timer := range []netio.Timer{first, second} { // both end at once
			if err := timer.StartOnce(time.Second); err != nil {
				t.Fatalf("StartOnce: got error %v, want none", err)
			}
		}
		sleep(2 * time.Second)
	})
}

func TestTimerRefusesWhatMakesNoSense(t *testing.T) {
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		timer := newTimer(t, l, func() { t.Error("the timer fired") })
		if err := timer.Start(0); err == nil {
			t.Error("Start(0): got no error, want one")
		}
		if err := timer.StartOnce(-1); err == nil {
			t.Error("StartOnce(-1): got no error, want one")
		}
		if err := timer.Close(); err != nil {
			t.Errorf("Close: got error %v, want none", err)
		}
		if err := timer.Start(time.Second); !errors.Is(err, netio.ErrClosed) {
			t.Errorf("Start after Close: got error %v, want %v", err, netio.ErrClosed)
		}
		sleep(time.Minute)
	})
}

func TestFrozenLoopRunsNothingAndDoesNotMakeUpForPeriods(t *testing.T) {
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		posted, fired := 0, 0
		timer := newTimer(t, l, func() { fired++ })
		if err := timer.Start(time.Second); err != nil {
			t.Fatalf("Start: got error %v, want none", err)
		}
		sleep(1500 * time.Millisecond)
		l.Freeze()
		l.Post(func() { posted++ })
		sleep(10 * time.Second)
		if posted != 0 || fired != 1 {
			t.Errorf("frozen: got %d posted and %d timer calls, want 0 and 1", posted, fired)
		}
		l.Thaw()
		synctest.Wait()
		if posted != 1 || fired != 2 {
			t.Errorf("thawed: got %d posted and %d timer calls, want 1 and 2", posted, fired)
		}
	})
}

func TestBusyLoopStillFiresTimers(t *testing.T) {
	l := memnet.NewLoop() // in real time: in a bubble a busy loop stops the clock
	defer l.Close()
	fired := make(chan struct{})
	timer := newTimer(t, l, func() { close(fired) })
	var again func()
	again = func() {
		select {
		case <-fired:
		default:
			l.Post(again)
		}
	}
	l.Post(again)
	if err := timer.StartOnce(time.Millisecond); err != nil {
		t.Fatalf("StartOnce: got error %v, want none", err)
	}
	<-fired
}

// A function that called runtime.Goexit, as t.FailNow does, left a loop that took
// functions and never ran them.
func TestLoopEndsInOrderAfterGoexit(t *testing.T) {
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		ran := 0
		newTimer(t, l, func() { t.Error("a timer ran after the end") })
		l.Post(runtime.Goexit)
		for range 3 {
			l.Post(func() {
				if !l.OnLoop() {
					t.Error("OnLoop: got false, want true")
				}
				ran++
				runtime.Goexit()
			})
		}
		synctest.Wait()
		if ran != 3 {
			t.Errorf("functions posted before: got %d runs, want 3", ran)
		}
		if l.Post(func() {}) || l.Do(func() {}) {
			t.Error("Post: got true, want false after the end")
		}
		l.Close()
	})
}
