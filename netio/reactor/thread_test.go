// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio/reactor"
)

func TestEventLoop_pinnedThread(t *testing.T) {
	var before, on, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !before.IsSet(cpu) {
		cpu++
	}
	var loop *reactor.EventLoop
	loop = newLoop(t, reactor.Config{Wait: reactor.WaitThread, CPUs: []int{cpu}, Init: func() {
		if err := unix.SchedGetaffinity(0, &on); err != nil {
			t.Error(err)
		}
		loop.Stop()
	}})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	run(t, loop)
	if err := unix.SchedGetaffinity(0, &after); err != nil {
		t.Fatal(err)
	}
	if on.Count() != 1 || !on.IsSet(cpu) {
		t.Errorf("on the loop: got %d processors, want only number %d", on.Count(), cpu)
	}
	if after != before {
		t.Error("after Run the thread has other processors than before")
	}
}

func TestEventLoop_pinningToAProcessorThatIsNotThere(t *testing.T) {
	loop := newLoop(t, reactor.Config{Wait: reactor.WaitThread, CPUs: []int{1023}})
	err := loop.Run(t.Context())
	if !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "pin thread") {
		t.Errorf("Run: got %v, want EINVAL for pinning the thread", err)
	}
}
