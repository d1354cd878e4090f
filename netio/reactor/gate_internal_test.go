// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An event of a loop that is awake woke a thread of the runtime, too, which took a
// processor from goroutines with work.
func TestEventLoop_isOnlyWatchedWhileItSleeps(t *testing.T) {
	p, err := newPoller(WaitNetpoll, 8)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := p.control(unix.EPOLL_CTL_ADD, fd, Readable, token{}); err != nil {
		t.Fatal(err)
	}
	watched := func() bool {
		t.Helper()
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.gateFD), Events: unix.POLLIN}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n > 0
	}
	notify(fd)
	if watched() {
		t.Error("the runtime hears of an event before the loop has slept")
	}
	for range 2 { // the event stays
		if n, err := p.wait(); n != 1 || err != nil {
			t.Fatalf("wait: got %d events, %v, want 1", n, err)
		}
		if watched() {
			t.Error("the runtime hears of an event after the loop has slept")
		}
	}
}

// A wake-up ends a sleep as an event does: the gate stays as it is for the next one. It was
// closed and opened again, which are three system calls for each.
func TestEventLoop_aWakeUpLeavesTheGateOpen(t *testing.T) {
	p := readyPoller(t, WaitNetpoll)
	if n, err := p.poll(); n != 1 || err != nil {
		t.Fatalf("poll: got %d events and %v, want the one that is ready", n, err)
	}
	for slept := false; !slept; {
		time.AfterFunc(time.Millisecond, p.wake)
		if n, err := p.wait(); n != 0 || err != nil {
			t.Fatalf("wait: got %d events and %v, want none", n, err)
		}
		slept = p.looks == 1
	}
	if !p.open {
		t.Error("the gate behind a sleep that a wake-up has ended: got closed, want open")
	}
}
