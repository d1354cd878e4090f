// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio/reactor"
)

// named is a Source with a name and nothing to do.
type named struct{ name string }

func (n named) Name() string { return n.name }

func (n named) OnEvent(reactor.Events) {}

func TestEventLoop_Register_refuses(t *testing.T) {
	loop := newLoop(t, reactor.Config{})
	nothing := sourceFunc(func(reactor.Events) {})
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	taken := eventfd(t, 0)
	register(t, loop, taken, reactor.Readable, nothing)
	free := eventfd(t, 0)
	defer unix.Close(free)

	var opError *reactor.OpError
	var configError *reactor.ConfigError
	tests := []struct {
		name   string
		fd     int
		events reactor.Events
		source reactor.Source
		want   error
		as     any
	}{
		{"a number that is no descriptor", -1, reactor.Readable, nothing, unix.EBADF, &opError},
		{"a descriptor that is not open", 1 << 20, reactor.Readable, nothing, unix.EBADF, &opError},
		{"a regular file, which is always ready", int(file.Fd()), reactor.Readable, nothing, unix.EPERM, &opError},
		{"a descriptor that is registered", taken, reactor.Writable, nothing, reactor.ErrRegistered, &opError},
		{"no source", free, reactor.Readable, nil, reactor.ErrNoCallback, &opError},
		{"events that the package does not know", free, 1 << 30, nothing, nil, &configError},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := loop.Stats().Registrations
			_, err := loop.Register(test.fd, test.events, test.source)
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !errors.As(err, test.as) {
				t.Errorf("Register: got %v, want a %T with %v", err, test.as, test.want)
			}
			if after := loop.Stats().Registrations; after != before {
				t.Errorf("registrations: got %d, want %d as before", after, before)
			}
		})
	}
	if _, err := loop.AddPrepare(nil); !errors.Is(err, reactor.ErrNoCallback) {
		t.Errorf("AddPrepare(nil): got %v, want ErrNoCallback", err)
	}
}

// TestRegistration_staleEventsAreDropped: two descriptors are ready in one batch; the source
// that is called first closes the other one, and its number is used again.
func TestRegistration_staleEventsAreDropped(t *testing.T) {
	type pair struct {
		r  *reactor.Registration
		fd int
	}
	tests := []struct {
		name  string
		reuse bool
	}{
		{"when the descriptor is only closed", false},
		{"when its number and its token belong to another source at once", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					config := mode.config
					loop := newLoop(t, config)
					var pairs [2]pair
					var heir pair
					called, foreign := 0, 0
					for i := range pairs {
						fd := eventfd(t, 1)
						r, err := loop.Register(fd, reactor.Readable, sourceFunc(func(reactor.Events) {
							called++
							other := pairs[1-i]
							closeBoth(t, other.r, other.fd)
							if test.reuse {
								heir.fd = eventfd(t, 0) // not ready
								if heir.fd != other.fd {
									t.Errorf("descriptor: got %d, want the number %d again", heir.fd, other.fd)
								}
								var err error
								heir.r, err = loop.Register(heir.fd, reactor.Readable, sourceFunc(func(reactor.Events) { foreign++ }))
								if err != nil {
									t.Errorf("Register: %v", err)
								}
								t.Cleanup(func() { closeBoth(t, heir.r, heir.fd) })
							}
							closeBoth(t, pairs[i].r, pairs[i].fd)
							startOnce(t, newTimer(t, loop, loop.Stop), 5e6)
						}))
						if err != nil {
							t.Fatal(err)
						}
						pairs[i] = pair{r, fd}
					}
					run(t, loop)
					if called != 1 || foreign != 0 {
						t.Errorf("callbacks: got %d and %d of the heir, want 1 and 0", called, foreign)
					}
					if got := loop.Stats().Stale; got != 1 {
						t.Errorf("stale events counted: got %d, want 1", got)
					}
				})
			}
		})
	}
}

func TestRegistration_Modify_changesTheEvents(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop := newLoop(t, config)
			var got []reactor.Events
			var r *reactor.Registration
			// An eventfd of value 1 is readable and writable.
			r = register(t, loop, eventfd(t, 1), reactor.Readable, sourceFunc(func(e reactor.Events) {
				got = append(got, e)
				next := reactor.Writable
				if len(got) == 2 {
					next = 0
					startOnce(t, newTimer(t, loop, loop.Stop), 5e6)
				}
				if err := r.Modify(next); err != nil {
					t.Errorf("Modify: %v", err)
				}
			}))
			run(t, loop)
			if len(got) != 2 || got[0] != reactor.Readable || got[1] != reactor.Writable {
				t.Errorf("events: got %v, want readable, then writable, then none", got)
			}
			var configError *reactor.ConfigError
			if err := r.Modify(1 << 29); !errors.As(err, &configError) {
				t.Errorf("Modify with unknown bits: got %v, want a ConfigError", err)
			}
		})
	}
}

func TestRegistration_edgeTriggeredReportsOnce(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop, _ := started(t, config)
			fd := eventfd(t, 0)
			events := make(chan reactor.Events, 100)
			r := register(t, loop, fd, reactor.Readable|reactor.EdgeTriggered, sourceFunc(func(e reactor.Events) { events <- e }))
			add(t, fd)
			if e := await(t, events, "the first edge"); e != reactor.Readable {
				t.Errorf("events: got %v, want readable", e)
			}
			for range 10 {
				onLoop(t, loop, func() {})
			}
			if n := len(events); n != 0 {
				t.Errorf("without another edge: got %d events, want none", n)
			}
			add(t, fd)
			await(t, events, "the second edge")
			if err := r.Modify(reactor.Readable | reactor.EdgeTriggered); err != nil {
				t.Errorf("Modify: %v", err)
			}
			await(t, events, "what holds at the time of Modify")
		})
	}
}

func TestRegistration_peerThatHangsUp(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			loop, _ := started(t, config)
			events := make(chan reactor.Events, 1000)
			register(t, loop, pair[0], reactor.PeerClosed|reactor.EdgeTriggered, sourceFunc(func(e reactor.Events) { events <- e }))
			if err := unix.Shutdown(pair[1], unix.SHUT_WR); err != nil {
				t.Fatal(err)
			}
			if e := await(t, events, "the end of one direction"); !e.Has(reactor.PeerClosed) || e.Has(reactor.Hangup) {
				t.Errorf("half closed: got %v, want peer closed, not hangup", e)
			}
			if err := unix.Close(pair[1]); err != nil {
				t.Fatal(err)
			}
			if e := await(t, events, "the end of both"); !e.Has(reactor.Hangup) {
				t.Errorf("closed: got %v, want hangup", e)
			}
		})
	}
}

func TestRegistration_descriptorClosedBeforeIt(t *testing.T) {
	loop := newLoop(t, reactor.Config{})
	nothing := sourceFunc(func(reactor.Events) {})
	t.Run("is told by Close", func(t *testing.T) {
		fd := eventfd(t, 0)
		r, err := loop.Register(fd, reactor.Readable, nothing)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Close(fd); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); !errors.Is(err, unix.EBADF) {
			t.Errorf("Close: got %v, want EBADF", err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("second Close: got %v, want nil", err)
		}
	})
	t.Run("cannot harm the next owner of the number", func(t *testing.T) {
		fd := eventfd(t, 0)
		old, err := loop.Register(fd, reactor.Readable, nothing)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Close(fd); err != nil {
			t.Fatal(err)
		}
		if again := eventfd(t, 1); again != fd {
			t.Fatalf("descriptor: got %d, want %d again", again, fd)
		}
		register(t, loop, fd, reactor.Readable, sourceFunc(func(reactor.Events) { loop.Stop() }))
		if err := old.Close(); err != nil {
			t.Errorf("Close of the old one: got %v, want nil: it has ended", err)
		}
		if got := loop.Stats().Abandoned; got != 1 {
			t.Errorf("abandoned registrations: got %d, want 1", got)
		}
		run(t, loop) // the new one still gets its event
	})
}
