package bus

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/internal/alarm"
	"tagbus/netio/memnet"
)

// ticking is a heartbeat whose connections have limits, as a publisher's have.
func ticking(t *testing.T, limits *[]time.Duration) (h *heartbeat, loop *memnet.Loop, ticks *int) {
	t.Helper()
	h, loop, ticks = new(heartbeat), memnet.NewLoop(), new(int)
	t.Cleanup(loop.Close)
	tick := func(time.Time, time.Duration) {
		*ticks++
		for _, limit := range *limits {
			h.need(limit)
		}
	}
	alarms := new(alarm.Clock)
	var err error
	loop.Do(func() {
		if err = alarm.Open(alarms, loop.NewTimer); err == nil {
			h.start(alarms, defaultHeartbeatInterval, defaultHeartbeatTimeout, tick)
			h.enter()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { loop.Do(func() { alarms.Close() }) })
	return h, loop, ticks
}

// The ticks are as frequent as the limits that are there ask for, and no longer.
func TestTheTickFollowsTheLimitsThatAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limits []time.Duration
		h, loop, ticks := ticking(t, &limits)
		now := func() (n int) {
			loop.Do(func() { n = *ticks })
			return n
		}
		in := func(d time.Duration) int {
			before := now()
			time.Sleep(d)
			synctest.Wait()
			return now() - before
		}
		if got := in(10 * time.Second); got != 20 {
			t.Errorf("without a limit: got %d ticks in 10 s, want 20", got)
		}
		loop.Do(func() {
			limits = []time.Duration{time.Second, 40 * time.Millisecond}
			for _, limit := range limits {
				h.quicken(limit)
			}
		})
		if got := in(10 * time.Second); got < 999 || got > 1000 {
			t.Errorf("with a limit of 40 ms: got %d ticks in 10 s, want 1000", got)
		}
		loop.Do(func() { limits = limits[:1] })
		time.Sleep(time.Second)
		if got := in(10 * time.Second); got != 40 {
			t.Errorf("with a limit of 1 s: got %d ticks in 10 s, want 40", got)
		}
		loop.Do(func() { limits = nil })
		time.Sleep(time.Second)
		if got := in(10 * time.Second); got != 20 {
			t.Errorf("when all limits have gone: got %d ticks in 10 s, want 20", got)
		}
	})
}

// A tick comes at its time, or earlier, whatever limits come meanwhile.
func TestATickIsNeverMovedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limits []time.Duration
		h, loop, ticks := ticking(t, &limits)
		for i := range 1000 {
			loop.Do(func() {
				limit := 1999*time.Millisecond - time.Duration(i)*time.Millisecond
				limits = []time.Duration{limit}
				h.quicken(limit)
			})
			time.Sleep(100 * time.Millisecond)
		}
		loop.Do(func() {
			if *ticks < 200 {
				t.Errorf("got %d ticks in 100 s, want at least one each 500 ms", *ticks)
			}
		})
	})
}
