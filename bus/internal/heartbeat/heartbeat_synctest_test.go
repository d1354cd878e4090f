// SPDX-License-Identifier: Apache-2.0

package heartbeat_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/heartbeat"
	"tagbus/internal/alarm"
	"tagbus/internal/testkit/memnet"
)

// bed is a clock on a loop whose time is that of the bubble.
type bed struct {
	heartbeat.Clock
	t      *testing.T
	loop   *memnet.Loop
	alarms alarm.Clock
	ticks  int
	late   []time.Duration // of ticks that were
	onTick func(now time.Time, late time.Duration)
}

// newBed starts a clock. onTick may be nil.
func newBed(t *testing.T, interval, timeout time.Duration, onTick func(now time.Time, late time.Duration)) *bed {
	t.Helper()
	b := &bed{t: t, loop: memnet.NewLoop(), onTick: onTick}
	t.Cleanup(b.loop.Close)
	var err error
	b.do(func() {
		if err = alarm.Open(&b.alarms, b.loop.NewTimer); err == nil {
			b.Start(&b.alarms, interval, timeout, b.tick)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.do(func() { b.alarms.Close() }) })
	return b
}

func (b *bed) do(f func()) { b.loop.Do(f) }

func (b *bed) tick(now time.Time, late time.Duration) {
	b.ticks++
	if late > 0 {
		b.late = append(b.late, late)
	}
	if b.onTick != nil {
		b.onTick(now, late)
	}
}

// in returns the number of ticks in the next d.
func (b *bed) in(d time.Duration) (n int) {
	b.do(func() { n = -b.ticks })
	time.Sleep(d)
	synctest.Wait()
	b.do(func() { n += b.ticks })
	return n
}

// want fails the test unless the next 10 s have so many ticks, or one fewer.
func (b *bed) want(ticks int, when string) {
	b.t.Helper()
	if got := b.in(10 * time.Second); got != ticks && got != ticks-1 {
		b.t.Errorf("%s: got %d ticks in 10 s, want %d", when, got, ticks)
	}
}

func TestTheIntervalDecidesHowOftenTheClockTicks(t *testing.T) {
	for _, x := range []struct {
		name              string
		interval, timeout time.Duration
		ticks, millis     int
	}{
		{"four ticks in an interval", 2 * time.Second, 6 * time.Second, 20, 2000},
		{"a short interval", 400 * time.Millisecond, time.Second, 100, 400},
		{"a long interval", time.Hour, -1, 20, 3_600_000},
		{"ticks shorter than the longest", 2100 * time.Millisecond, -1, 24, 2100},
		{"a part of a millisecond is promised as one", 10500 * time.Microsecond, -1, 3810, 11},
		{"no beats", -1, 6 * time.Second, 20, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, x.interval, x.timeout, nil)
				if got := heartbeat.Millis(b.Interval()); got != x.millis {
					t.Errorf("Millis: got %d, want %d", got, x.millis)
				}
				b.want(0, "without connections")
				b.do(b.Enter)
				b.want(x.ticks, "with a connection")
				b.do(b.Enter)
				b.want(x.ticks, "with two")
				b.do(b.Leave)
				b.want(x.ticks, "with one of two")
				b.do(b.Leave)
				b.want(0, "when the last one has gone")
				b.do(b.Enter)
				b.want(x.ticks, "with another one")
			})
		})
	}
}

// The ticks are as frequent as the limits that are there ask for, and no longer.
func TestTheTickFollowsTheLimitsThatAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *bed
		var limits []time.Duration
		b = newBed(t, 2*time.Second, 6*time.Second, func(time.Time, time.Duration) {
			for _, limit := range limits {
				b.Need(limit)
			}
		})
		ask := func(all ...time.Duration) {
			b.do(func() {
				limits = all
				for _, limit := range all {
					b.Quicken(limit)
				}
			})
		}
		b.do(b.Enter)
		b.want(20, "without a limit")
		ask(time.Second, 40*time.Millisecond, 0)
		b.want(1000, "with a limit of 40 ms")
		ask(time.Second, time.Millisecond)
		b.want(1000, "with a limit that is shorter than the clock may tick")
		b.do(func() { limits = limits[:1] })
		time.Sleep(time.Second)
		b.want(40, "with a limit of 1 s")
		b.do(func() { limits = nil })
		time.Sleep(time.Second)
		b.want(20, "when all limits have gone")
		ask(time.Minute)
		b.want(20, "with a limit that needs no other ticks")
		ask(40 * time.Millisecond)
		b.do(b.Leave)
		limits = nil
		b.do(b.Enter)
		b.want(20, "after the last connection with a limit")
		b.do(b.Leave)
		ask(40 * time.Millisecond)
		b.want(0, "with a limit and no connection")
		b.do(b.Enter)
		b.want(1000, "when a connection follows the limit")
	})
}

// A tick comes at its time, or earlier, whatever limits come meanwhile.
func TestATickIsNeverMovedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *bed
		var limit time.Duration
		b = newBed(t, 2*time.Second, 6*time.Second, func(time.Time, time.Duration) { b.Need(limit) })
		b.do(b.Enter)
		for i := range 1000 {
			b.do(func() {
				limit = 1999*time.Millisecond - time.Duration(i)*time.Millisecond
				b.Quicken(limit)
			})
			time.Sleep(100 * time.Millisecond)
		}
		b.do(func() {
			if b.ticks < 200 {
				t.Errorf("got %d ticks in 100 s, want at least one each 500 ms", b.ticks)
			}
		})
	})
}

func TestATickSaysByHowMuchItIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 2*time.Second, 6*time.Second, nil)
		b.do(b.Enter)
		freeze := func(d time.Duration) {
			time.Sleep(time.Second) // half a tick has passed
			b.loop.Freeze()
			time.Sleep(d)
			b.loop.Thaw()
			synctest.Wait()
		}
		time.Sleep(250 * time.Millisecond)
		freeze(400 * time.Millisecond) // 150 ms beyond the tick
		b.do(func() {
			if len(b.late) > 0 {
				t.Errorf("after a delay that a timer may have: got ticks late by %v, want none", b.late)
			}
		})
		time.Sleep(100 * time.Millisecond)
		freeze(time.Minute)
		b.do(func() {
			if len(b.late) != 1 || b.late[0] < 59500*time.Millisecond || b.late[0] > time.Minute {
				t.Errorf("after a minute without turns: got ticks late by %v, want one, by 59.5 s to 60 s", b.late)
			}
		})
	})
}

func TestALimitIsOverGiveOrTakeTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, silent := newBed(t, 2*time.Second, 6*time.Second, nil), newBed(t, -1, 6*time.Second, nil)
		now := time.Now()
		for _, x := range []struct {
			passed    time.Duration
			over, due bool // of 2 s
		}{
			{0, false, false},
			{1900 * time.Millisecond, false, false},
			{1940 * time.Millisecond, true, true}, // an eighth of a tick of 500 ms
			{3 * time.Second, true, true},
		} {
			if got := b.Over(x.passed, 2*time.Second); got != x.over {
				t.Errorf("Over, %v of 2 s: got %t, want %t", x.passed, got, x.over)
			}
			if got := b.Due(now, now.Add(-x.passed)); got != x.due {
				t.Errorf("Due, %v of 2 s: got %t, want %t", x.passed, got, x.due)
			}
			if silent.Due(now, now.Add(-x.passed)) {
				t.Errorf("Due without beats, after %v: got true", x.passed)
			}
		}
	})
}
