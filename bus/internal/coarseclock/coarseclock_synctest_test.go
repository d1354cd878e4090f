// SPDX-License-Identifier: Apache-2.0

package coarseclock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/coarseclock"
	"tagbus/internal/alarm"
)

// timer is the timer of a loop that is the goroutine that holds mu.
type timer struct {
	mu    sync.Mutex
	ring  func()
	timer *time.Timer
	rings int
}

func (t *timer) StartOnce(d time.Duration) error {
	if t.timer != nil {
		t.timer.Stop()
	}
	t.timer = time.AfterFunc(d, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.rings++
		t.ring()
	})
	return nil
}

func (t *timer) Close() error { return nil }

// TestTheClockGoesAndRests: it is right in each second, and rings once for each second
// with calls, and once more before it rests.
func TestTheClockGoesAndRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var alarms alarm.Clock
		var loop timer
		if err := alarm.Open(&alarms, func(ring func()) (*timer, error) { loop.ring = ring; return &loop, nil }); err != nil {
			t.Fatal(err)
		}
		posts := 0
		var c coarseclock.Clock
		c.Start(&alarms, func(f func()) bool {
			loop.mu.Lock()
			defer loop.mu.Unlock()
			posts++
			f()
			return true
		})
		time.Sleep(300 * time.Millisecond)
		if c.Known() != 0 {
			t.Errorf("before the first call: got %d, want 0", c.Known())
		}
		for range 100 { // of a tenth of a second each
			if got, want := c.Now(), uint32(time.Now().Unix()); got != want || c.Known() != want {
				t.Fatalf("got %d, then %d, want %d", got, c.Known(), want)
			}
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		check := func(when string, wantPosts, wantRings int) {
			t.Helper()
			loop.mu.Lock()
			defer loop.mu.Unlock()
			if posts != wantPosts || loop.rings != wantRings {
				t.Errorf("%s: got %d posts and %d rings, want %d and %d", when, posts, loop.rings, wantPosts, wantRings)
			}
		}
		check("in 10 s of calls", 1, 10)
		time.Sleep(time.Hour)
		check("an hour later", 1, 12)
		if c.Known() != 0 {
			t.Errorf("an hour later: got %d, want 0", c.Known())
		}
		if got, want := c.Now(), uint32(time.Now().Unix()); got != want {
			t.Errorf("then: got %d, want %d", got, want)
		}
		check("then", 2, 12)
	})
}

// A clock whose loop has ended is right, and one that does not go stands still.
func TestAClockWithoutALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended, still coarseclock.Clock
		var none *coarseclock.Clock
		ended.Start(nil, func(func()) bool { return false })
		began := still.Now()
		for range 3 {
			time.Sleep(time.Second)
			want := uint32(time.Now().Unix())
			if ended.Now() != want || none.Now() != want || still.Now() != began {
				t.Errorf("got %d, %d and %d, want %d, %d and %d", ended.Now(), none.Now(), still.Now(), want, want, began)
			}
		}
	})
}

func TestTimeOfASecond(t *testing.T) {
	if got := coarseclock.Time(0); !got.IsZero() {
		t.Errorf("got %v for 0, want none", got)
	}
	if got, want := coarseclock.Time(86400), time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
