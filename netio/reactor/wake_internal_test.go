// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// others counts the events of a batch that are not the poller's own.
func others(p *poller) (n int) {
	for i := range p.batch[:p.ready] {
		if tokenOf(&p.batch[i]).index != wakeIndex {
			n++
		}
	}
	return n
}

// A wake-up that is late ends a wait that has nothing to do with it. That one finds what
// is there and nothing else, and the wait behind it waits again.
func TestEventLoop_aLateWakeUpEndsOneWait(t *testing.T) {
	for _, mode := range []WaitMode{WaitNetpoll, WaitThread} {
		t.Run(mode.String(), func(t *testing.T) {
			p := readyPoller(t, mode)
			wait := func(want int, when string) {
				t.Helper()
				if _, err := p.wait(); others(p) != want || err != nil {
					t.Fatalf("%s: got %d events and %v, want %d", when, others(p), err, want)
				}
			}
			wait(1, "an event")
			for range 100 {
				p.wake()
				wait(0, "a wake-up behind the wait")
			}
			fd, err := newEventfd()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := unix.Close(fd); err != nil {
					t.Error(err)
				}
			}()
			if err := p.control(unix.EPOLL_CTL_ADD, fd, Readable|EdgeTriggered, token{index: 1}); err != nil {
				t.Fatal(err)
			}
			go notify(fd)
			wait(1, "an event after wake-ups") // ends without one if a wake-up is left
		})
	}
}

// Events stay where they are while a wake-up goes through the runtime's poller no more.
func TestEventLoop_aWakeUpOfNetpollIsNoEvent(t *testing.T) {
	p := readyPoller(t, WaitNetpoll)
	if n, err := p.poll(); n != 1 || err != nil {
		t.Fatalf("poll: got %d events and %v, want the one that is ready", n, err)
	}
	for range 100 {
		p.wake()
		if n, err := p.wait(); n != 0 || err != nil {
			t.Fatalf("wait: got %d events and %v, want none", n, err)
		}
	}
}

// One that has found the loop asleep may wake it only when it is closed, and the numbers
// of its descriptors belong to others.
func TestEventLoop_aWakeUpOfAClosedLoop(t *testing.T) {
	for _, mode := range []WaitMode{WaitNetpoll, WaitThread} {
		t.Run(mode.String(), func(t *testing.T) {
			for range 100 {
				l, err := New(Config{Wait: mode})
				if err != nil {
					t.Fatal(err)
				}
				l.sleeping.Store(true)
				woken := make(chan struct{})
				go func() {
					l.Stop()
					close(woken)
				}()
				if err := l.Close(); err != nil {
					t.Errorf("Close: got %v, want nil", err)
				}
				<-woken
				l.sleeping.Store(true)
				expectNotWritten(t, l.Stop)
			}
		})
	}
}

// expectNotWritten checks that f does not write to descriptors that are new.
func expectNotWritten(t *testing.T, f func()) {
	t.Helper()
	var fds [3]int
	for i := range fds {
		fd, err := newEventfd()
		if err != nil {
			t.Fatal(err)
		}
		fds[i] = fd
	}
	f()
	for _, fd := range fds {
		if _, err := unix.Read(fd, make([]byte, 8)); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("read of an eventfd without a write: got %v, want EAGAIN", err)
		}
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	}
}
