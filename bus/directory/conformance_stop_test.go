// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus/directory"
)

func testStop(t *testing.T, d closer) {
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
	announce(t, d, entry("a", 1))
	within(t, entered, "the first notify")
	announce(t, d, entry("b", 1))
	stopped := make(chan struct{})
	go func() {
		stop()
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
	within(t, stopped, "stop")
	announce(t, d, entry("c", 1))
	if _, err := d.List(); err != nil {
		t.Fatal(err)
	}
	if got := calls.Load(); got != 1 {
		t.Errorf("got %d calls of notify, want 1", got)
	}
}

func testInsideNotify(t *testing.T, d closer) {
	t.Helper()
	a := announce(t, d, entry("a", 1))
	stops := make(chan func(), 1)
	done := make(chan struct{})
	var calls atomic.Int32
	stop, err := d.Watch(func(directory.Event) {
		calls.Add(1)
		(<-stops)()
		if err := a.Withdraw(); err != nil {
			t.Errorf("got %v from Withdraw, want nil", err)
		}
		if _, err := d.Announce(entry("b", 1)); err != nil {
			t.Errorf("got %v from Announce, want nil", err)
		}
		close(done)
	})
	if err != nil {
		t.Fatal(err)
	}
	stops <- stop
	within(t, done, "notify")
	stop()
	if got := calls.Load(); got != 1 {
		t.Errorf("got %d calls of notify, want 1", got)
	}
}

func testCloseInsideNotify(t *testing.T, d closer) {
	t.Helper()
	announce(t, d, entry("a", 1))
	done := make(chan struct{})
	if _, err := d.Watch(func(directory.Event) {
		if err := d.Close(); err != nil {
			t.Errorf("got %v from Close, want nil", err)
		}
		close(done)
	}); err != nil {
		t.Fatal(err)
	}
	within(t, done, "notify")
}

func testClosed(t *testing.T, d closer) {
	t.Helper()
	a := announce(t, d, entry("a", 1))
	r, stop := watch(t, d)
	r.want(directory.Appeared, "a")
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatalf("got %v from Close, want nil", err)
		}
	}
	r.wantNone()
	stop()
	if _, err := d.Announce(entry("b", 1)); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("got %v from Announce, want ErrClosed", err)
	}
	if _, err := d.Watch(func(directory.Event) {}); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("got %v from Watch, want ErrClosed", err)
	}
	if _, err := d.List(); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("got %v from List, want ErrClosed", err)
	}
	if err := a.Update(entry("a", 2)); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("got %v from Update, want ErrClosed", err)
	}
	if err := a.Withdraw(); err != nil {
		t.Errorf("got %v from Withdraw, want nil", err)
	}
}
