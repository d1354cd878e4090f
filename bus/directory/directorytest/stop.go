// SPDX-License-Identifier: Apache-2.0

package directorytest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus/directory"
)

func testStop(t *testing.T, d directory.Opened) {
	t.Helper()
	entered, release := make(chan struct{}), make(chan struct{})
	var calls, running atomic.Int32
	stop, err := d.Watch(func(directory.Event) {
		if running.Add(1) != 1 {
			t.Error("got two calls of notify at once, want one")
		}
		if calls.Add(1) == 1 {
			close(entered)
			<-release
		}
		running.Add(-1)
	})
	if err != nil {
		t.Fatal(err)
	}
	Announce(t, d, Entry("a", 1))
	Within(t, entered, "the first notify")
	Announce(t, d, Entry("b", 1))
	stopped := make(chan struct{})
	var ended int32 // calls when stop returned
	go func() {
		stop()
		ended = calls.Load()
		if running.Load() != 0 {
			t.Error("got a notify that runs after stop, want none")
		}
		stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Error("got a return of stop while notify runs, want it to wait")
	case <-time.After(10 * time.Millisecond):
	}
	close(release)
	Within(t, stopped, "stop")
	Announce(t, d, Entry("c", 1))
	if _, err := d.List(); err != nil {
		t.Fatal(err)
	}
	if got := calls.Load(); got != ended || got > 2 { // two if stop was called after the second event
		t.Errorf("got %d calls of notify, and %d when stop returned, want no more after that", got, ended)
	}
}

func testInsideNotify(t *testing.T, d directory.Opened) {
	t.Helper()
	a := Announce(t, d, Entry("a", 1))
	stops := make(chan func(), 1)
	done := make(chan struct{})
	var calls atomic.Int32
	stop, err := d.Watch(func(directory.Event) {
		calls.Add(1)
		(<-stops)()
		if err := a.Withdraw(); err != nil {
			t.Errorf("got %v from Withdraw, want nil", err)
		}
		if _, err := d.Announce(Entry("b", 1)); err != nil {
			t.Errorf("got %v from Announce, want nil", err)
		}
		close(done)
	})
	if err != nil {
		t.Fatal(err)
	}
	stops <- stop
	Within(t, done, "notify")
	stop()
	if got := calls.Load(); got != 1 {
		t.Errorf("got %d calls of notify, want 1", got)
	}
}

func testCloseInsideNotify(t *testing.T, d directory.Opened) {
	t.Helper()
	Announce(t, d, Entry("a", 1))
	done := make(chan struct{})
	if _, err := d.Watch(func(directory.Event) {
		if err := d.Close(); err != nil {
			t.Errorf("got %v from Close, want nil", err)
		}
		close(done)
	}); err != nil {
		t.Fatal(err)
	}
	Within(t, done, "notify")
}

func testClosed(t *testing.T, d directory.Opened) {
	t.Helper()
	a := Announce(t, d, Entry("a", 1))
	r, stop := Watch(t, d)
	r.Want(directory.Appeared, "a")
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatalf("got %v from Close, want nil", err)
		}
	}
	r.WantNone()
	stop()
	if _, err := d.Announce(Entry("b", 1)); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("got %v from Announce, want ErrClosed", err)
	}
	if _, err := d.Watch(func(directory.Event) {}); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("got %v from Watch, want ErrClosed", err)
	}
	if _, err := d.List(); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("got %v from List, want ErrClosed", err)
	}
	if err := a.Update(Entry("a", 2)); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("got %v from Update, want ErrClosed", err)
	}
	if err := a.Withdraw(); err != nil {
		t.Errorf("got %v from Withdraw, want nil", err)
	}
}
