// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"testing"

	"tagbus/netio/reactor"
)

func TestRegistration_many(t *testing.T) {
	const count = 300 // the table grows more than once
	loop, _ := started(t, reactor.Config{})
	events := make(chan int, count)
	fds := make([]int, count)
	registrations := make([]*reactor.Registration, count)
	for round := range 3 {
		for i := range count {
			fd := eventfd(t, 0)
			r, err := loop.Register(fd, reactor.Readable, sourceFunc(func(reactor.Events) {
				reset(fd)
				events <- i
			}))
			if err != nil {
				t.Fatal(err)
			}
			fds[i], registrations[i] = fd, r
		}
		seen := make(map[int]bool)
		for i := range count {
			add(t, fds[i])
		}
		for range count {
			seen[await(t, events, "an event of each")] = true
		}
		if len(seen) != count {
			t.Errorf("round %d: got events of %d sources, want %d", round, len(seen), count)
		}
		onLoop(t, loop, func() {
			for i := range count {
				closeBoth(t, registrations[i], fds[i])
			}
		})
	}
	if got := loop.Stats().Registrations; got != 0 {
		t.Errorf("registrations: got %d, want 0", got)
	}
}

func TestRegistration_eventAllocatesNothing(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop := newLoop(t, config)
			var next func()
			register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(reactor.Events) {
				if next != nil {
					next()
				}
			}))
			expectNoAllocs(t, allocsPer(t, loop, func(n func()) { next = n }), "event")
		})
	}
}
