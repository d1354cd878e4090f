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

// modes runs a test for each way to wait.
func modes(t *testing.T, test func(t *testing.T, config reactor.Config)) {
	t.Helper()
	for _, config := range []reactor.Config{
		{Wait: reactor.WaitNetpoll},
		{Wait: reactor.WaitThread},
		{Wait: reactor.WaitNetpoll, BusyPoll: 50 * time.Microsecond},
	} {
		name := "wait=" + config.Wait.String()
		if config.BusyPoll > 0 {
			name += ",spin"
		}
		t.Run(name, func(t *testing.T) { test(t, config) })
	}
}

// newLoop returns a loop that is closed after the test, without leaks.
func newLoop(t testing.TB, config reactor.Config) *reactor.EventLoop {
	t.Helper()
	loop, err := reactor.New(config)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() {
		if err := loop.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return loop
}

// run is Run with a deadline, on the goroutine of the test: what the callbacks
// have done is seen after it.
func run(t testing.TB, loop *reactor.EventLoop) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := loop.Run(ctx); err != nil {
		t.Fatalf("Run: got %v, want nil: it was to be stopped", err)
	}
}

// started runs a loop on another goroutine, and stops it after the test or when
// stop is called, which waits for Run.
func started(t testing.TB, config reactor.Config) (loop *reactor.EventLoop, stop func()) {
	t.Helper()
	loop = newLoop(t, config)
	done := make(chan error, 1)
	ready := make(chan struct{})
	loop.Post(func() { close(ready) })
	go func() { done <- loop.Run(context.Background()) }()
	await(t, ready, "the loop to start")
	stop = sync.OnceFunc(func() {
		loop.Stop()
		if err := await(t, done, "Run to return"); err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
	t.Cleanup(stop)
	return loop, stop
}

// await receives from c, or fails the test.
func await[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
		panic("not reached")
	}
}

// onLoop runs f on a running loop and waits for it.
func onLoop(t testing.TB, loop *reactor.EventLoop, f func()) {
	t.Helper()
	done := make(chan struct{})
	if !loop.Post(func() { defer close(done); f() }) {
		t.Fatal("Post: got false from a running loop")
	}
	await(t, done, "a posted function")
}

// sourceFunc is a Source without anything optional.
type sourceFunc func(reactor.Events)

func (f sourceFunc) OnEvent(e reactor.Events) { f(e) }

// eventfd returns a descriptor that is readable while its value is not 0. The
// test closes it.
func eventfd(t testing.TB, value uint) int {
	t.Helper()
	fd, err := unix.Eventfd(value, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatalf("eventfd: %v", err)
	}
	return fd
}

// add changes the value of an eventfd.
func add(t testing.TB, fd int) {
	t.Helper()
	if _, err := unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Errorf("write eventfd: %v", err)
	}
}

// reset makes the value of an eventfd 0.
func reset(fd int) {
	var value [8]byte
	_, _ = unix.Read(fd, value[:]) // EAGAIN if it is 0
}

// register registers a source for the duration of the test.
func register(t testing.TB, loop *reactor.EventLoop, fd int, events reactor.Events, s reactor.Source) *reactor.Registration {
	t.Helper()
	r, err := loop.Register(fd, events, s)
	if err != nil {
		t.Fatalf("Register: %v", err)
	}
	t.Cleanup(func() { closeBoth(t, r, fd) })
	return r
}

func closeBoth(t testing.TB, r *reactor.Registration, fd int) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Errorf("Registration.Close: %v", err)
	}
	if err := unix.Close(fd); err != nil {
		t.Errorf("close: %v", err)
	}
}

func newSignal(t testing.TB, loop *reactor.EventLoop, mode reactor.SignalMode, f func()) *reactor.Signal {
	t.Helper()
	s, err := loop.NewSignal(mode, f)
	if err != nil {
		t.Fatalf("NewSignal: %v", err)
	}
	return s
}

func newTimer(t testing.TB, loop *reactor.EventLoop, f func()) *reactor.Timer {
	t.Helper()
	timer, err := loop.NewTimer(f)
	if err != nil {
		t.Fatalf("NewTimer: %v", err)
	}
	return timer
}

func startOnce(t testing.TB, timer *reactor.Timer, d time.Duration) {
	t.Helper()
	if err := timer.StartOnce(d); err != nil {
		t.Errorf("StartOnce(%v): %v", d, err)
	}
}

func start(t testing.TB, timer *reactor.Timer, period time.Duration) {
	t.Helper()
	if err := timer.Start(period); err != nil {
		t.Errorf("Start(%v): %v", period, err)
	}
}

// openFDs counts the open descriptors of the process.
func openFDs(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
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
	if !raceEnabled && allocs > 0.05 {
		t.Errorf("allocations per %s: got %v, want 0", per, allocs)
	}
}
