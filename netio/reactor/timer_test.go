// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"errors"
	"testing"
	"time"

	"tagbus/netio/reactor"
)

// TestTimer_Start_periods: one of each unit. A period below what a turn of the loop takes
// is accepted too: the callback comes in each turn, for all that have expired.
func TestTimer_Start_periods(t *testing.T) {
	tests := []struct {
		name      string
		period    time.Duration
		callbacks int
		late      bool // more expirations than callbacks, surely
	}{
		{"a second", time.Second, 1, false},
		{"a millisecond", time.Millisecond, 20, false},
		{"50 microseconds", 50 * time.Microsecond, 100, false},
		{"a microsecond", time.Microsecond, 1000, false},
		{"800 nanoseconds", 800 * time.Nanosecond, 1000, false},
		{"a nanosecond", time.Nanosecond, 1000, true},
	}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					loop := newLoop(t, config)
					calls := 0
					timer := newTimer(t, loop, func() {
						if calls++; calls == test.callbacks {
							loop.Stop()
						}
					})
					began := time.Now()
					start(t, timer, test.period)
					run(t, loop)
					took := time.Since(began)
					expirations := uint64(calls) + timer.Missed()
					if least := time.Duration(expirations) * test.period; took < least {
						t.Errorf("%d expirations took %v, want at least %v: the timer is early", expirations, took, least)
					}
					if calls != test.callbacks || test.late && timer.Missed() < uint64(calls) {
						t.Errorf("got %d callbacks and %d missed, want %d and, with periods shorter than turns, more missed",
							calls, timer.Missed(), test.callbacks)
					}
				})
			}
		})
	}
}

func TestTimer_refusesTimesThatAreNotPositive(t *testing.T) {
	loop := newLoop(t, reactor.Config{})
	calls := 0
	timer := newTimer(t, loop, func() { calls++; loop.Stop() })
	startOnce(t, timer, time.Millisecond)
	for _, d := range []time.Duration{0, -1, -time.Hour} {
		for operation, start := range map[string]func(time.Duration) error{"Start": timer.Start, "StartOnce": timer.StartOnce} {
			var refused *reactor.ConfigError
			if err := start(d); !errors.As(err, &refused) || refused.Value != d {
				t.Errorf("%s(%v): got %v, want a ConfigError with it", operation, d, err)
			}
		}
	}
	run(t, loop) // what was started before still comes
	if calls != 1 {
		t.Errorf("callbacks: got %d, want 1", calls)
	}
	if _, err := loop.NewTimer(nil); !errors.Is(err, reactor.ErrNoCallback) {
		t.Errorf("NewTimer(nil): got %v, want ErrNoCallback", err)
	}
}

func TestTimer_startStop(t *testing.T) {
	const never = time.Hour
	tests := []struct {
		name string
		do   func(t *testing.T, timer *reactor.Timer)
		in   func(t *testing.T, timer *reactor.Timer) // each callback; nil: nothing
		want int                                      // callbacks; -1: at least 10
	}{
		{"not started", func(*testing.T, *reactor.Timer) {}, nil, 0},
		{"once", func(t *testing.T, timer *reactor.Timer) { t.Helper(); startOnce(t, timer, time.Millisecond) }, nil, 1},
		{"periodic", func(t *testing.T, timer *reactor.Timer) { t.Helper(); start(t, timer, time.Millisecond) }, nil, -1},
		{"stopped before it expires", func(t *testing.T, timer *reactor.Timer) {
			t.Helper()
			start(t, timer, time.Millisecond)
			timer.Stop()
			timer.Stop()
		}, nil, 0},
		{"closed before it expires", func(t *testing.T, timer *reactor.Timer) {
			t.Helper()
			start(t, timer, time.Millisecond)
			if err := errors.Join(timer.Close(), timer.Close()); err != nil {
				t.Errorf("Close: %v", err)
			}
		}, nil, 0},
		{"stopped and started", func(t *testing.T, timer *reactor.Timer) {
			t.Helper()
			start(t, timer, never)
			timer.Stop()
			startOnce(t, timer, time.Millisecond)
		}, nil, 1},
		{"started anew with a shorter period", func(t *testing.T, timer *reactor.Timer) {
			t.Helper()
			start(t, timer, never)
			start(t, timer, time.Millisecond)
		}, nil, -1},
		{"started anew with a longer one", func(t *testing.T, timer *reactor.Timer) {
			t.Helper()
			start(t, timer, time.Millisecond)
			start(t, timer, never)
		}, nil, 0},
		{"periodic, then once", func(t *testing.T, timer *reactor.Timer) {
			t.Helper()
			start(t, timer, time.Millisecond)
			startOnce(t, timer, 2*time.Millisecond)
		}, nil, 1},
		{
			"stopped in its callback", func(t *testing.T, timer *reactor.Timer) { t.Helper(); start(t, timer, time.Millisecond) },
			func(_ *testing.T, timer *reactor.Timer) { timer.Stop() }, 1,
		},
		{
			"closed in its callback", func(t *testing.T, timer *reactor.Timer) { t.Helper(); start(t, timer, time.Millisecond) },
			func(t *testing.T, timer *reactor.Timer) {
				t.Helper()
				if err := timer.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}, 1,
		},
		{
			"started anew in its callback", func(t *testing.T, timer *reactor.Timer) { t.Helper(); startOnce(t, timer, time.Millisecond) },
			func(t *testing.T, timer *reactor.Timer) { t.Helper(); startOnce(t, timer, time.Millisecond) }, -1,
		},
	}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					loop := newLoop(t, config)
					calls := 0
					var timer *reactor.Timer
					timer = newTimer(t, loop, func() {
						if calls++; calls == 10 && test.want < 0 {
							loop.Stop()
						}
						if test.in != nil {
							test.in(t, timer)
						}
					})
					test.do(t, timer)
					if test.want >= 0 {
						startOnce(t, newTimer(t, loop, loop.Stop), 20*time.Millisecond)
					}
					run(t, loop)
					if test.want >= 0 && calls != test.want {
						t.Errorf("callbacks: got %d, want %d", calls, test.want)
					}
				})
			}
		})
	}
}

// TestTimer_Stop_ofAnExpiredOneInTheSameBatch: two timers have expired before the
// loop looks; the callback of the first one stops the second.
func TestTimer_Stop_ofAnExpiredOneInTheSameBatch(t *testing.T) {
	tests := []struct {
		name string
		stop func(t *testing.T, timer *reactor.Timer)
	}{
		{"by Stop", func(_ *testing.T, timer *reactor.Timer) { timer.Stop() }},
		{"by Close", func(t *testing.T, timer *reactor.Timer) {
			t.Helper()
			if err := timer.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}},
		{"by a new start", func(t *testing.T, timer *reactor.Timer) { t.Helper(); start(t, timer, time.Hour) }},
	}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					config.Init = func() { <-time.After(3 * time.Millisecond) }
					loop := newLoop(t, config)
					var timers [2]*reactor.Timer
					calls := 0
					for i := range timers {
						timers[i] = newTimer(t, loop, func() {
							calls++
							test.stop(t, timers[1-i])
						})
						startOnce(t, timers[i], time.Microsecond)
					}
					startOnce(t, newTimer(t, loop, loop.Stop), 10*time.Millisecond)
					run(t, loop)
					if calls != 1 {
						t.Errorf("callbacks: got %d, want 1", calls)
					}
				})
			}
		})
	}
}

func TestTimer_Missed_countsWhatALateLoopMissed(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			const late = 20
			config.Init = func() { <-time.After(late * time.Millisecond) }
			loop := newLoop(t, config)
			var timer *reactor.Timer
			timer = newTimer(t, loop, func() {
				if got := timer.Missed(); got < late-2 {
					t.Errorf("missed in the first callback: got %d, want those of %d ms", got, late)
				}
				loop.Stop()
			})
			start(t, timer, time.Millisecond)
			run(t, loop)
		})
	}
}
