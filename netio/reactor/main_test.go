// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
	"tagbus/netio/reactor"
)

func TestMain(m *testing.M) {
	// The loops of tests with WaitThread hold a processor each, and the tests
	// want one of their own beside them.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	goleak.VerifyTestMain(m)
}

// patience bounds what is expected to come at once. It is only used up by a
// test that fails.
const patience = 20 * time.Second

// modes are the ways to wait; every test of behaviour runs with each.
var modes = []struct {
	name   string
	config reactor.Config
}{
	{"wait=netpoll", reactor.Config{Wait: reactor.WaitNetpoll}},
	{"wait=thread", reactor.Config{Wait: reactor.WaitThread}},
	{"wait=netpoll,spin", reactor.Config{Wait: reactor.WaitNetpoll, BusyPoll: 50 * time.Microsecond}},
}

// newLoop returns a loop that is closed after the test, without leaks.
func newLoop(tb testing.TB, config reactor.Config) *reactor.EventLoop {
	tb.Helper()
	loop, err := reactor.New(config)
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	tb.Cleanup(func() {
		if err := loop.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return loop
}

// run is Run with a deadline, on the goroutine of the test: what the callbacks
// have done is seen after it.
func run(tb testing.TB, loop *reactor.EventLoop) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	if err := loop.Run(ctx); err != nil {
		tb.Fatalf("Run: got %v, want nil: it was to be stopped", err)
	}
}

// started runs a loop on another goroutine, and stops it after the test or when
// stop is called, which waits for Run.
func started(tb testing.TB, config reactor.Config) (loop *reactor.EventLoop, stop func()) {
	tb.Helper()
	loop = newLoop(tb, config)
	done := make(chan error, 1)
	ready := make(chan struct{})
	loop.Post(func() { close(ready) })
	go func() { done <- loop.Run(context.Background()) }()
	await(tb, ready, "the loop to start")
	stop = sync.OnceFunc(func() {
		loop.Stop()
		if err := await(tb, done, "Run to return"); err != nil {
			tb.Errorf("Run: got %v, want nil", err)
		}
	})
	tb.Cleanup(stop)
	return loop, stop
}

// await receives from c, or fails the test.
func await[T any](tb testing.TB, c <-chan T, what string) T {
	tb.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		tb.Fatalf("waited %v for %s", patience, what)
		panic("not reached")
	}
}

// onLoop runs f on a running loop and waits for it.
func onLoop(tb testing.TB, loop *reactor.EventLoop, f func()) {
	tb.Helper()
	done := make(chan struct{})
	if !loop.Post(func() { defer close(done); f() }) {
		tb.Fatal("Post: got false from a running loop")
	}
	await(tb, done, "a posted function")
}

// sourceFunc is a Source without anything optional.
type sourceFunc func(reactor.Events)

func (f sourceFunc) OnEvent(e reactor.Events) { f(e) }

// eventfd returns a descriptor that is readable while its value is not 0. The
// test closes it.
func eventfd(tb testing.TB, value uint) int {
	tb.Helper()
	fd, err := unix.Eventfd(value, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		tb.Fatalf("eventfd: %v", err)
	}
	return fd
}

// add changes the value of an eventfd.
func add(tb testing.TB, fd int) {
	tb.Helper()
	if _, err := unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		tb.Errorf("write eventfd: %v", err)
	}
}

// reset makes the value of an eventfd 0.
func reset(fd int) {
	var value [8]byte
	_, _ = unix.Read(fd, value[:]) // EAGAIN if it is 0
}

// register registers a source for the duration of the test.
func register(tb testing.TB, loop *reactor.EventLoop, fd int, events reactor.Events, s reactor.Source) *reactor.Registration {
	tb.Helper()
	r, err := loop.Register(fd, events, s)
	if err != nil {
		tb.Fatalf("Register: %v", err)
	}
	tb.Cleanup(func() { closeBoth(tb, r, fd) })
	return r
}

func closeBoth(tb testing.TB, r *reactor.Registration, fd int) {
	tb.Helper()
	if err := r.Close(); err != nil {
		tb.Errorf("Registration.Close: %v", err)
	}
	if err := unix.Close(fd); err != nil {
		tb.Errorf("close: %v", err)
	}
}

func newSignal(tb testing.TB, loop *reactor.EventLoop, mode reactor.SignalMode, f func()) *reactor.Signal {
	tb.Helper()
	s, err := loop.NewSignal(mode, f)
	if err != nil {
		tb.Fatalf("NewSignal: %v", err)
	}
	return s
}

func newTimer(tb testing.TB, loop *reactor.EventLoop, f func()) *reactor.Timer {
	tb.Helper()
	timer, err := loop.NewTimer(f)
	if err != nil {
		tb.Fatalf("NewTimer: %v", err)
	}
	return timer
}

// stopAfter stops the loop ten turns after done reports true first: no matter how slow
// the machine is, all has happened, and what happens once too often is seen. If done
// never does, the loop stops after half of the patience.
func stopAfter(tb testing.TB, loop *reactor.EventLoop, done func() bool) {
	tb.Helper()
	turns := 0
	var s *reactor.Signal
	s = newSignal(tb, loop, reactor.Coalescing, func() {
		if turns > 0 || done() {
			turns++
		}
		if turns == 10 {
			loop.Stop()
			return
		}
		s.Fire()
	})
	s.Fire()
	startOnce(tb, newTimer(tb, loop, loop.Stop), patience/2)
}

func startOnce(tb testing.TB, timer *reactor.Timer, d time.Duration) {
	tb.Helper()
	if err := timer.StartOnce(d); err != nil {
		tb.Errorf("StartOnce(%v): %v", d, err)
	}
}

func start(tb testing.TB, timer *reactor.Timer, period time.Duration) {
	tb.Helper()
	if err := timer.Start(period); err != nil {
		tb.Errorf("Start(%v): %v", period, err)
	}
}

// openFDs counts the open descriptors of the process.
func openFDs(tb testing.TB) int {
	tb.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Fatal(err)
	}
	return len(entries)
}

// logger returns a logger and what it has logged.
func logger() (*slog.Logger, *bytes.Buffer) {
	var text bytes.Buffer
	return slog.New(slog.NewTextHandler(&text, nil)), &text
}

// allocsPer runs a function on the loop again and again, each time in another
// turn, and returns the allocations of the whole program per time. step has to
// call next, at once or from another callback.
//
// testing.AllocsPerRun does not fit: it cannot turn the loop, and leaves no
// processor beside a loop with WaitThread.
func allocsPer(t *testing.T, loop *reactor.EventLoop, step func(next func())) float64 {
	t.Helper()
	const warmUp, runs = 200, 1000
	var before, after runtime.MemStats
	count := 0
	var next func()
	next = func() {
		count++
		switch count {
		case warmUp:
			runtime.ReadMemStats(&before)
		case warmUp + runs:
			runtime.ReadMemStats(&after)
			loop.Stop()
			return
		}
		step(next)
	}
	loop.Post(next)
	run(t, loop)
	return float64(after.Mallocs-before.Mallocs) / runs
}

func expectNoAllocs(t *testing.T, allocs float64, per string) {
	t.Helper()
	// A few of other goroutines, the runtime's own, come in between.
	if !testkit.Race && allocs > 0.05 {
		t.Errorf("allocations per %s: got %v, want 0", per, allocs)
	}
}
