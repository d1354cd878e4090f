// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostaddr_test

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/hostaddr"
)

// system is a host whose addresses the test changes.
type system struct {
	mu    sync.Mutex
	all   []hostaddr.Address
	err   error
	looks int
	bell  chan struct{} // rung by the kernel; closed by Close
	once  sync.Once
	deaf  bool // the kernel tells nothing
}

func newSystem(all ...hostaddr.Address) (*system, *hostaddr.Watcher) {
	s := &system{all: all, bell: make(chan struct{})}
	return s, hostaddr.NewWatcher(s.list, s.listen)
}

func (s *system) list() ([]hostaddr.Address, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.all, s.err
}

func (s *system) listen() (hostaddr.Notices, error) {
	if s.deaf {
		return nil, errors.New("not in a sandbox")
	}
	return s, nil
}

func (s *system) Read([]byte) (int, error) {
	if _, ok := <-s.bell; !ok {
		return 0, io.EOF
	}
	return 1, nil
}

func (s *system) Close() error {
	s.once.Do(func() { close(s.bell) })
	return nil
}

// change changes the system in silence.
func (s *system) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// looked returns how often the addresses were listed.
func (s *system) looked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

// set changes the addresses, which the kernel tells.
func (s *system) set(all ...hostaddr.Address) {
	s.change(func() { s.all = all })
	if !s.deaf {
		s.bell <- struct{}{}
	}
}

// told counts what comes within some time, and returns how long the first one took.
func told(changed <-chan struct{}, within time.Duration) (n int, first time.Duration) {
	begun, end := time.Now(), time.After(within)
	for {
		select {
		case <-changed:
			if n++; n == 1 {
				first = time.Since(begun)
			}
		case <-end:
			return n, first
		}
	}
}

// watch watches, and takes what is told at the beginning.
func watch(t *testing.T, w *hostaddr.Watcher) <-chan struct{} {
	t.Helper()
	changed, stop := w.Watch()
	t.Cleanup(stop)
	if n, _ := told(changed, time.Minute); n != 1 {
		t.Errorf("at the beginning: told %d times, want once", n)
	}
	return changed
}

// TestWhatIsNotSelectedIsThere: an address that others had better not dial is one of the host.
func TestWhatIsNotSelectedIsThere(t *testing.T) {
	off := on("eth1", "10.9.0.2/24")
	off.Up = false
	_, w := newSystem(on("eth0", "10.9.0.1/24"), on("eth0", "169.254.3.4/16"), off)
	selected, err1 := w.Addresses()
	all, err2 := w.All()
	if fmt.Sprint(selected) != "[10.9.0.1]" || fmt.Sprint(all) != "[10.9.0.1 169.254.3.4]" || err1 != nil || err2 != nil {
		t.Errorf("got %v and %v (%v, %v), want 10.9.0.1, and 169.254.3.4 among all", selected, all, err1, err2)
	}
}

func TestAChangeIsTold(t *testing.T) {
	lo, old, later := on("lo", "127.0.0.1/8"), on("eth0", "10.9.0.1/24"), on("eth0", "10.9.0.77/24")
	tests := []struct {
		name   string
		before []hostaddr.Address
		after  []hostaddr.Address
		deaf   bool
		within time.Duration // 0: never
	}{
		{"the network comes up", []hostaddr.Address{lo}, []hostaddr.Address{lo, old}, false, time.Second},
		{"the address changes", []hostaddr.Address{lo, old}, []hostaddr.Address{lo, later}, false, time.Second},
		{"the address changes in a sandbox", []hostaddr.Address{lo, old}, []hostaddr.Address{lo, later}, true, 3 * time.Second},
		{"the address is gone", []hostaddr.Address{lo, old}, []hostaddr.Address{lo}, false, 5 * time.Second},
		{"the order changes", []hostaddr.Address{old, on("eth1", "10.8.0.1/24")}, []hostaddr.Address{on("eth0", "10.9.0.1/24", unplugged), on("eth1", "10.8.0.1/24")}, false, 5 * time.Second},
		{"nothing that others see", []hostaddr.Address{lo, old}, []hostaddr.Address{lo, old, on("eth0", "fe80::1/64"), on("docker0", "172.17.0.1/16", inner)}, false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := newSystem(test.before...)
				s.deaf = test.deaf
				changed := watch(t, w)
				s.set(test.after...)
				n, took := told(changed, time.Minute)
				want := 0
				if test.within > 0 {
					want = 1
				}
				if n != want || took > test.within {
					t.Errorf("told %d times, first after %v, want %d within %v", n, took, want, test.within)
				}
			})
		})
	}
}

// An address that is away for two seconds, as when DHCP renews it, is not told.
func TestAnAddressThatComesBackIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lo, eth := on("lo", "127.0.0.1/8"), on("eth0", "10.9.0.1/24")
		s, w := newSystem(lo, eth)
		changed := watch(t, w)
		s.set(lo)
		time.Sleep(2 * time.Second)
		s.set(lo, eth)
		if n, _ := told(changed, time.Minute); n != 0 {
			t.Errorf("told %d times, want never", n)
		}
	})
}

// An address that is away for so short a time is there for all users meanwhile: one that
// listed the addresses then, and was told nothing later, would keep what it saw.
func TestWhatIsNotToldIsNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lo, eth := on("lo", "127.0.0.1/8"), on("eth0", "10.9.0.1/24")
		s, w := newSystem(lo, eth)
		changed := watch(t, w)
		wantSeen := func(want string) {
			t.Helper()
			if all, err := w.Addresses(); err != nil || fmt.Sprint(all) != want {
				t.Errorf("got %v, %v, want %s", all, err, want)
			}
		}
		s.set(lo)
		time.Sleep(2 * time.Second)
		later, stop := w.Watch()
		defer stop()
		<-later
		wantSeen("[10.9.0.1 127.0.0.1]")
		s.set(lo, eth)
		if n, _ := told(changed, time.Minute); n != 0 {
			t.Errorf("told %d times, want never", n)
		}
		s.set(lo)
		if n, _ := told(changed, time.Minute); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
		wantSeen("[127.0.0.1]")
	})
}

// A user that has listed the addresses before a change, and watches after it, looks again.
func TestALaterUserMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lo, eth := on("lo", "127.0.0.1/8"), on("eth0", "10.9.0.1/24")
		s, w := newSystem(lo)
		first := watch(t, w)
		s.set(lo, eth)
		<-first
		watch(t, w)
	})
}

// A link that flaps all the time, with another address each time, is told a few times a
// minute, and costs few looks. The last address is told, too.
func TestALinkThatFlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lo := on("lo", "127.0.0.1/8")
		s, w := newSystem(lo)
		changed := watch(t, w)
		before := s.looked()
		n := 0
		for i := range 600 { // a minute
			s.set(lo, on("eth0", fmt.Sprintf("10.9.%d.%d/16", i/250, i%250+1)))
			more, _ := told(changed, 100*time.Millisecond)
			n += more
		}
		if looks := s.looked() - before; n < 4 || n > 8 || looks > 32 {
			t.Errorf("told %d times with %d looks in a minute, want 4 to 8 with at most 32", n, looks)
		}
		if n, took := told(changed, time.Minute); n != 1 || took > 16*time.Second {
			t.Errorf("told %d times at the end, after %v, want once within 15 s", n, took)
		}
	})
}

// When the kernel tells nothing any more, looks find what changes. A host whose addresses
// cannot be listed for a while counts as unchanged.
func TestAWatcherWithoutNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lo, eth := on("lo", "127.0.0.1/8"), on("eth0", "10.9.0.1/24")
		s, w := newSystem(lo)
		changed := watch(t, w)
		s.deaf = true
		_ = s.Close()
		s.change(func() { s.err = errors.New("out of memory") })
		if n, _ := told(changed, time.Minute); n != 0 {
			t.Errorf("told %d times, want never", n)
		}
		s.change(func() { s.err, s.all = nil, []hostaddr.Address{lo, eth} })
		if n, took := told(changed, time.Minute); n != 1 || took > 3*time.Second {
			t.Errorf("told %d times, after %v, want once within 3 s", n, took)
		}
	})
}

// All users are told. The last one that stops ends the looks, and the next one begins them.
func TestTheUsersOfAWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lo, eth := on("lo", "127.0.0.1/8"), on("eth0", "10.9.0.1/24")
		s, w := newSystem(lo)
		s.deaf = true
		first := watch(t, w)
		second, stop := w.Watch()
		s.set(lo, eth)
		for _, c := range []<-chan struct{}{first, second} {
			if n, _ := told(c, 10*time.Second); n != 1 && c == first {
				t.Errorf("told %d times, want once", n)
			}
		}
		stop()
		stop()
		s.set(lo)
		if n, _ := told(second, 10*time.Second); n != 0 {
			t.Error("told after stop")
		}
	})
}

// Twice, one after the other: nothing is left of the first time.
func TestAWatcherBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newSystem(on("lo", "127.0.0.1/8"))
		s.deaf = true
		for range 2 {
			changed, stop := w.Watch()
			<-changed
			stop()
			synctest.Wait()
			before := s.looked()
			time.Sleep(time.Minute)
			if s.looked() != before {
				t.Error("looked after the last stop")
			}
		}
	})
}
