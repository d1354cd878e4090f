// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"testing"

	"golang.org/x/sys/unix"
)

// interrupt interrupts every second call of epoll_pwait of p, from the first on, and
// counts them.
func interrupt(p *poller) (calls *int) {
	calls = new(int)
	pwait := p.pwait
	p.pwait = func(epfd int, batch []unix.EpollEvent, milliseconds int64) (int, unix.Errno) {
		if *calls++; *calls%2 == 1 {
			return -1, unix.EINTR
		}
		return pwait(epfd, batch, milliseconds)
	}
	return calls
}

// readyPoller returns a poller with an edge that was not seen.
func readyPoller(t *testing.T, mode WaitMode) *poller {
	t.Helper()
	p, err := newPoller(mode, 8)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.control(unix.EPOLL_CTL_ADD, fd, Readable|EdgeTriggered, token{}); err != nil {
		t.Fatal(err)
	}
	notify(fd)
	return p
}

// A look that was interrupted counted as one that found nothing, and the loop waited
// for an edge that had come already.
func TestEventLoop_anInterruptedLookLooksAgain(t *testing.T) {
	tests := []struct {
		name string
		mode WaitMode
		look func(p *poller) bool
		want int // calls
	}{
		{"without blocking, netpoll", WaitNetpoll, func(p *poller) bool { n, err := p.poll(); return n == 1 && err == nil }, 2},
		{"without blocking, thread", WaitThread, func(p *poller) bool { n, err := p.poll(); return n == 1 && err == nil }, 2},
		{"asked by the runtime", WaitNetpoll, func(p *poller) bool { return p.look(0) && p.ready == 1 && p.err == nil }, 2},
		{"that blocks, netpoll", WaitNetpoll, func(p *poller) bool { n, err := p.wait(); return n == 1 && err == nil }, 2},
		{"that blocks, thread", WaitThread, func(p *poller) bool { n, err := p.wait(); return n == 1 && err == nil }, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := readyPoller(t, test.mode)
			calls := interrupt(p)
			if !test.look(p) || *calls != test.want {
				t.Errorf("got %d events and %v in %d calls, want 1 in %d", p.ready, p.err, *calls, test.want)
			}
			if n, err := p.poll(); n != 0 || err != nil {
				t.Errorf("the look behind it: got %d events and %v, want none", n, err)
			}
		})
	}
}

// A loop that is interrupted all the time serves everything.
func TestEventLoop_thatIsInterrupted(t *testing.T) {
	for _, mode := range []WaitMode{WaitNetpoll, WaitThread} {
		t.Run(mode.String(), func(t *testing.T) {
			l, err := New(Config{Wait: mode})
			if err != nil {
				t.Fatal(err)
			}
			calls := interrupt(l.poller)
			const rounds = 1000
			served := 0
			var s *Signal
			s, err = l.NewSignal(Semaphore, func() {
				if served++; served == rounds {
					l.Stop()
					return
				}
				go s.Fire() // while the loop goes to sleep
			})
			if err != nil {
				t.Fatal(err)
			}
			s.Fire()
			if err := l.Run(t.Context()); err != nil || served != rounds || *calls < rounds {
				t.Errorf("Run: got %v, %d callbacks in %d calls, want %d", err, served, *calls, rounds)
			}
			if err := l.Close(); err != nil {
				t.Errorf("Close: got %v, want nil", err)
			}
		})
	}
}
