// SPDX-License-Identifier: Apache-2.0

package alarm_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/alarm"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

// counted is a timer that counts its starts.
type counted struct {
	netio.Timer
	starts *int
}

func (c counted) StartOnce(d time.Duration) error {
	*c.starts++
	return c.Timer.StartOnce(d)
}

// bed is a clock on a loop, and what has rung there.
type bed struct {
	alarm.Clock
	loop   *memnet.Loop
	begun  time.Time
	starts int
	rung   []rung
}

type rung struct {
	Name string
	At   time.Duration
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{loop: memnet.NewLoop(), begun: time.Now()}
	t.Cleanup(b.loop.Close)
	err := alarm.Open(&b.Clock, func(ring func()) (netio.Timer, error) {
		timer, err := b.loop.NewTimer(ring)
		return counted{timer, &b.starts}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// named returns an alarm that notes when it rings.
func (b *bed) named(name string) *alarm.Alarm {
	return &alarm.Alarm{F: func() { b.rung = append(b.rung, rung{name, time.Since(b.begun)}) }}
}

func (b *bed) check(t *testing.T, want ...rung) {
	t.Helper()
	b.loop.Do(func() {
		if diff := cmp.Diff(want, b.rung); diff != "" {
			t.Errorf("alarms differ (-want +got):\n%s", diff)
		}
	})
}

func TestAlarmsRingInOrderUnlessCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		early, late, moved, cancelled, twin, far := b.named("early"), b.named("late"), b.named("moved"), b.named("cancelled"), b.named("twin"), b.named("far")
		b.loop.Do(func() {
			b.Set(late, 3*time.Second)
			b.Set(far, time.Hour)
			b.Set(moved, 2*time.Second)
			b.Set(early, time.Second)
			b.Set(cancelled, time.Second)
			b.Set(twin, time.Second)
			b.Set(moved, 0)
			b.Cancel(cancelled)
			b.Cancel(cancelled)
		})
		time.Sleep(time.Minute)
		b.check(t, rung{"moved", 1}, rung{"early", time.Second}, rung{"twin", time.Second}, rung{"late", 3 * time.Second})
		b.loop.Do(func() {
			if early.IsSet() || cancelled.IsSet() || !far.IsSet() {
				t.Errorf("IsSet: got %t after its time, %t after Cancel, %t before its time, want false, false and true", early.IsSet(), cancelled.IsSet(), far.IsSet())
			}
		})
	})
}

// An alarm that sets itself for now lets the loop do other things in between.
func TestAnAlarmThatIsSetByOneThatRingsWaitsForTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		var order []string
		var again alarm.Alarm
		again.F = func() {
			order = append(order, "ring")
			if len(order) < 5 {
				b.loop.Post(func() { order = append(order, "posted") })
				b.Set(&again, -time.Second)
			}
		}
		b.loop.Do(func() { b.Set(&again, time.Second) })
		time.Sleep(time.Minute)
		b.loop.Do(func() {
			if diff := cmp.Diff([]string{"ring", "posted", "ring", "posted", "ring"}, order); diff != "" {
				t.Errorf("order differs (-want +got):\n%s", diff)
			}
		})
	})
}

// Alarms without number at the same time do not hold the loop.
func TestManyAlarmsOfOneTimeTakeSeveralTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		rings, most, turn := 0, 0, 0
		b.loop.Do(func() {
			for range 1000 {
				b.Set(&alarm.Alarm{F: func() {
					if rings++; turn == 0 {
						b.loop.Post(func() { turn = 0 })
					}
					turn++
					most = max(most, turn)
				}}, time.Second)
			}
		})
		time.Sleep(time.Second + time.Millisecond)
		b.loop.Do(func() {
			if rings != 1000 || most > 256 {
				t.Errorf("got %d rings, %d in a turn, want 1000 and at most 256", rings, most)
			}
		})
	})
}

// What does not change the next time does not start the timer.
func TestTheTimerIsStartedForTheFirstAlarmOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		beat, limit := b.named("beat"), b.named("limit")
		starts := func(want int, what string) {
			t.Helper()
			b.loop.Do(func() {
				if b.starts != want {
					t.Errorf("starts of the timer %s: got %d, want %d", what, b.starts, want)
				}
				b.starts = 0
			})
		}
		b.loop.Do(func() {
			b.Set(beat, time.Second)
			for range 1000 {
				b.Set(limit, 5*time.Second)
				b.Cancel(limit)
			}
		})
		starts(1, "for an alarm and one behind it that comes and goes")
		b.loop.Do(func() { b.Cancel(beat) })
		for range 900 {
			b.loop.Do(func() { b.Set(limit, 5*time.Second) })
			time.Sleep(time.Millisecond)
		}
		starts(0, "while one is moved back")
		time.Sleep(time.Minute)
		starts(1, "after it came in vain")
		b.check(t, rung{"limit", 5*time.Second + 899*time.Millisecond})
	})
}

// A callback that panics takes no other alarm with it.
func TestAPanicLeavesTheOtherAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		var clock alarm.Clock
		err := alarm.Open(&clock, func(f func()) (netio.Timer, error) {
			return b.loop.NewTimer(func() {
				defer func() { _ = recover() }()
				f()
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		b.loop.Do(func() {
			clock.Set(&alarm.Alarm{F: func() { panic("a handler") }}, time.Second)
			clock.Set(b.named("other"), time.Second)
		})
		time.Sleep(time.Minute)
		b.check(t, rung{"other", time.Second + 1})
	})
}

func TestNothingRingsAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.loop.Do(func() {
			b.Set(&alarm.Alarm{F: func() { b.Close() }}, time.Second)
			b.Set(b.named("of the same time"), time.Second)
			b.Set(b.named("later"), time.Minute)
		})
		time.Sleep(2 * time.Second)
		b.loop.Do(func() { b.Set(b.named("set after Close"), time.Second) })
		time.Sleep(time.Hour)
		b.check(t)
		var none alarm.Clock
		if err := none.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestOpenReturnsTheErrorOfTheTimer(t *testing.T) {
	loop := memnet.NewLoop()
	loop.Close()
	var clock alarm.Clock
	if err := alarm.Open(&clock, loop.NewTimer); !errors.Is(err, netio.ErrClosed) {
		t.Errorf("got %v, want ErrClosed of a loop that has ended", err)
	}
	if err := clock.Close(); err != nil {
		t.Error(err)
	}
}
