// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"tagbus/netio/reactor"
)

func TestTimer_fromManyGoroutines(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop, _ := started(t, config)
			ticks := make(chan struct{}, 1)
			timer := newTimer(t, loop, func() {
				select {
				case ticks <- struct{}{}:
				default:
				}
			})
			var users sync.WaitGroup
			for i := range 8 {
				users.Go(func() {
					for range 200 {
						switch i % 4 {
						case 0:
							timer.Stop()
						case 1:
							startOnce(t, timer, time.Microsecond)
						default:
							start(t, timer, time.Duration(1+i)*time.Microsecond)
						}
					}
				})
			}
			users.Wait()
			start(t, timer, time.Microsecond)
			await(t, ticks, "a tick of the last start")
			await(t, ticks, "another tick")
			users.Go(func() { timer.Stop() })
			for range 2 {
				users.Go(func() {
					if err := timer.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
				})
			}
			users.Wait()
			if err := timer.Start(time.Second); !errors.Is(err, reactor.ErrClosed) {
				t.Errorf("Start after Close: got %v, want ErrClosed", err)
			}
		})
	}
}

func TestTimer_tickAllocatesNothing(t *testing.T) {
	tests := []struct {
		name  string
		start func(*reactor.Timer) error
	}{
		{"once", func(timer *reactor.Timer) error { return timer.StartOnce(time.Nanosecond) }},
		{"periodic", func(timer *reactor.Timer) error { return timer.Start(time.Microsecond) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					config := mode.config
					loop := newLoop(t, config)
					var next func()
					timer := newTimer(t, loop, func() { next() })
					expectNoAllocs(t, allocsPer(t, loop, func(n func()) {
						next = n
						if err := test.start(timer); err != nil {
							t.Errorf("start: %v", err)
						}
					}), "tick")
				})
			}
		})
	}
}
