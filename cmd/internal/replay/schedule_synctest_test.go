// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/internal/testkit"
)

func TestSchedule(t *testing.T) {
	const second = int64(time.Second)
	for _, test := range []struct {
		name     string
		schedule schedule
		times    []int64
		want     []time.Duration
	}{
		{"spacing", schedule{speed: 1}, []int64{7, 7, 10, 20}, []time.Duration{0, 0, 3, 13}},
		{"speed", schedule{speed: 4}, []int64{100, 108, 1_000_000_100}, []time.Duration{0, 2, 250_000_000}},
		{"a pause that is cut", schedule{speed: 1, maxGap: 5}, []int64{0, 4, 20, 22}, []time.Duration{0, 4, 9, 11}},
		{"times that are mixed up do not run ahead", schedule{speed: 1}, []int64{100, 90, 110, 100, 120}, []time.Duration{0, 0, 10, 10, 20}},
		{"a clock that was set back", schedule{speed: 1}, []int64{5 * second, 6 * second, second, 2 * second}, []time.Duration{0, time.Second, time.Second, 2 * time.Second}},
		{"days", schedule{speed: 1}, []int64{1_700_000_000_123_456_789, 1_700_864_000_123_456_790}, []time.Duration{0, 864_000_000_000_001}},
		{"times that no clock shows", schedule{speed: 1}, []int64{math.MinInt64, math.MaxInt64, math.MinInt64, math.MaxInt64}, []time.Duration{0, math.MaxInt64/2 + 1, math.MaxInt64/2 + 1, math.MaxInt64/2 + 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []time.Duration
			for _, ns := range test.times {
				got = append(got, test.schedule.next(ns))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			test.schedule.again()
			if next := test.schedule.next(12345); next != got[len(got)-1] {
				t.Errorf("a further pass begins at %v, want %v", next, got[len(got)-1])
			}
		})
	}
}

func TestMetronome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var naps, pauses []time.Duration
		m := newMetronome(func(d time.Duration) { naps = append(naps, d); time.Sleep(d) }, func(d time.Duration) { pauses = append(pauses, d) })
		for _, test := range []struct{ due, want time.Duration }{
			{0, 0},
			{50 * time.Microsecond, leastNap}, // with what is due until then
			{150 * time.Microsecond, leastNap},
			{1300 * time.Microsecond, 1300 * time.Microsecond},
			{time.Second, time.Second},
			{30 * time.Second, 30 * time.Second},
			{-5, 30 * time.Second},
		} {
			if err := m.wait(t.Context(), test.due); err != nil || m.now() != test.want {
				t.Errorf("due %v: got %v and error %v, want %v", test.due, m.now(), err, test.want)
			}
		}
		if longest := slices.Max(naps); longest > timerError {
			t.Errorf("got a nap of %v, want at most %v: nothing ends it", longest, timerError)
		}
		if want := []time.Duration{29 * time.Second}; !slices.Equal(pauses, want) {
			t.Errorf("got pauses %v, want %v", pauses, want)
		}
		m.sent([]time.Duration{30 * time.Second, 29 * time.Second, 28 * time.Second})
		if got := m.late.Total(); got.Messages != 3 || got.Max != 2*time.Second {
			t.Errorf("got %+v, want 3 messages, the latest after 2s", got)
		}
	})
}

func TestMetronomeStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(want) })
		m := newMetronome(time.Sleep, func(time.Duration) {})
		if err := m.wait(ctx, time.Hour); !errors.Is(err, want) || m.now() != time.Minute {
			t.Errorf("got %v after %v, want %v after 1m", err, m.now(), want)
		}
	})
}

func TestNapsAreShort(t *testing.T) {
	m := newMetronome(nap, func(time.Duration) {})
	var least time.Duration
	for i := range 20 { // on a machine that is busy some are longer
		due := m.now() + 500*time.Microsecond
		testkit.Must(t, m.wait(t.Context(), due))
		late := m.now() - due
		if late < 0 {
			t.Fatalf("nap %d: got an end %v before its time", i, -late)
		}
		if i == 0 || late < least {
			least = late
		}
	}
	if least > time.Millisecond {
		t.Errorf("got naps that are all %v late or more, want less than 1ms", least)
	}
}

func TestWaitingAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("needs a build without the race detector, which allocates")
	}
	m := newMetronome(nap, func(time.Duration) {})
	due := []time.Duration{0}
	got := testing.AllocsPerRun(20, func() {
		due[0] = m.now() + 2500*time.Microsecond
		testkit.Must(t, m.wait(t.Context(), due[0]))
		m.sent(due)
	})
	if got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}
