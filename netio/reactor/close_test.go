// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio/reactor"
)

func TestEventLoop_Close_namesSourcesThatAreStillRegistered(t *testing.T) {
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	fd := eventfd(t, 0)
	defer unix.Close(fd)
	r, err := loop.Register(fd, reactor.Readable, named{"listen endpoint 7"})
	if err != nil {
		t.Fatal(err)
	}
	err = loop.Close()
	var leak *reactor.OpError
	if want := "reactor: close: 1 sources still registered: listen endpoint 7"; !errors.As(err, &leak) || leak.Error() != want {
		t.Errorf("Close: got %v, want %q", err, want)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Registration.Close after the loop's: got %v, want nil", err)
	}
	if err := r.Modify(reactor.Writable); !errors.Is(err, reactor.ErrClosed) {
		t.Errorf("Modify: got %v, want ErrClosed", err)
	}
}

// TestEventLoop_everyDescriptorIsAccountedFor uses everything and counts afterwards.
func TestEventLoop_everyDescriptorIsAccountedFor(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			cycle := func() {
				loop, err := reactor.New(config)
				if err != nil {
					t.Fatal(err)
				}
				for i := range 20 {
					s := newSignal(t, loop, reactor.SignalMode(i%2), func() {})
					s.Fire()
					timer := newTimer(t, loop, func() {})
					start(t, timer, time.Microsecond)
					if i%3 == 0 { // the loop closes the others
						if err := errors.Join(s.Close(), timer.Close()); err != nil {
							t.Error(err)
						}
					}
				}
				startOnce(t, newTimer(t, loop, loop.Stop), time.Millisecond)
				run(t, loop)
				if err := loop.Close(); err != nil {
					t.Error(err)
				}
			}
			cycle() // the runtime opens its poller
			before := openFDs(t)
			for range 10 {
				cycle()
			}
			if after := openFDs(t); after != before {
				t.Errorf("open descriptors: got %d after, want %d as before", after, before)
			}
		})
	}
}

func TestNew_leaksNothingWhenDescriptorsRunOut(t *testing.T) {
	for _, test := range []struct {
		wait reactor.WaitMode
		want map[string]bool
	}{
		{reactor.WaitNetpoll, map[string]bool{"create epoll": true}},
		{reactor.WaitThread, map[string]bool{"create epoll": true, "create eventfd": true}},
	} {
		t.Run(test.wait.String(), func(t *testing.T) {
			if got := failuresOfNew(t, reactor.Config{Wait: test.wait}); !maps.Equal(got, test.want) {
				t.Errorf("New failed at %v, want %v", got, test.want)
			}
		})
	}
}

// failuresOfNew returns the operations at which New fails, as more and more descriptors
// are left.
func failuresOfNew(t *testing.T, config reactor.Config) map[string]bool {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	}()
	loop := newLoop(t, reactor.Config{})
	before := openFDs(t)
	// The limit is one more than the highest number that may be given out. With
	// each step a call further into New fails.
	failures := make(map[string]bool)
	for highest := uint64(0); ; highest++ {
		low := limit
		low.Cur = highest
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
			t.Fatal(err)
		}
		fresh, err := reactor.New(config)
		if err == nil {
			if err := fresh.Close(); err != nil {
				t.Error(err)
			}
			break
		}
		var failed *reactor.OpError
		if !errors.Is(err, unix.EMFILE) || !errors.As(err, &failed) {
			t.Fatalf("New: got %v, want an OpError with EMFILE", err)
		}
		failures[failed.Op] = true
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	if _, err := loop.NewTimer(func() {}); !errors.Is(err, unix.EMFILE) {
		t.Errorf("NewTimer: got %v, want EMFILE", err)
	}
	if _, err := loop.NewSignal(reactor.Coalescing, func() {}); !errors.Is(err, unix.EMFILE) {
		t.Errorf("NewSignal: got %v, want EMFILE", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if after := openFDs(t); after != before {
		t.Errorf("open descriptors: got %d after, want %d as before", after, before)
	}
	return failures
}
