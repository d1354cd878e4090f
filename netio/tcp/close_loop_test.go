// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// A paused endpoint whose peer had reset was never closed if a send met the
// error of the socket first.
func TestEndpoint_thatIsPausedAndBreaksWhileSendingIsClosed(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	onLoop(t, s.b.Loop(), func() {
		ep.PauseReceive()
		_ = c.SetLinger(0)
		_ = c.Close() // a reset, on loopback at once
		if err := ep.Send(1, nil, []byte("x")); err != nil {
			t.Errorf("Send: got error %v, want none", err)
		}
	})
	if got := next(t, "OnConnectionClosed", s.Closed); got.Cause == nil {
		t.Error("cause: got none, want the reset")
	}
}

// endingLoop is a backend with one connection on a loop that the test ends.
func endingLoop(t *testing.T, w *watcher) (*reactor.EventLoop, *served, chan error) {
	t.Helper()
	loop, err := reactor.New(reactor.Config{StallLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	b, err := tcp.Opener(loop, tcp.Config{})(w)
	if err != nil {
		t.Fatal(err)
	}
	l, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(context.Background()) }()
	return loop, &served{w, b, l}, ended
}

// givenTime lets pass what a fault would need to show. It cannot make a test
// fail that should pass.
func givenTime() { <-time.After(150 * time.Millisecond) }

// While a loop that was stopped ran its last functions, Close called the
// handler on its own goroutine.
func TestBackend_Close_leavesTheLastFunctionsOfTheLoopAlone(t *testing.T) {
	var draining, overlapped atomic.Bool
	w := newWatcher()
	w.AtClosed = func(netio.Endpoint) { overlapped.Store(overlapped.Load() || draining.Load()) }
	loop, s, ended := endingLoop(t, w)
	s.dialRaw(t)
	last, goOn := make(chan struct{}), make(chan struct{})
	loop.Post(func() {
		loop.Post(func() { // accepted before Stop, runs in the drain
			draining.Store(true)
			close(last)
			<-goOn
			draining.Store(false)
		})
		loop.Stop()
	})
	<-last
	closed := make(chan error, 1)
	go func() { closed <- s.b.Close() }()
	givenTime() // Close looks every 50 ms whether the loop has ended
	close(goOn)
	for what, result := range map[string]chan error{"Close": closed, "Run": ended} {
		if err := next(t, what, result); err != nil {
			t.Errorf("%s: got error %v, want none", what, err)
		}
	}
	if overlapped.Load() {
		t.Error("OnConnectionClosed ran while a posted function ran on the loop")
	}
	if err := loop.Close(); err != nil {
		t.Errorf("close of the loop: got error %v, want none", err)
	}
}

// Of two Closes without a loop the second returned while the first was in a
// callback.
func TestBackend_Close_theSecondWaitsForTheFirst(t *testing.T) {
	w := newWatcher()
	entered, leave := make(chan struct{}), make(chan struct{})
	w.AtClosed = func(netio.Endpoint) { close(entered); <-leave }
	loop, s, ended := endingLoop(t, w)
	s.dialRaw(t)
	loop.Stop()
	if err := next(t, "Run", ended); err != nil {
		t.Errorf("Run: got error %v, want none", err)
	}
	results := make(chan error, 2)
	go func() { results <- s.b.Close() }()
	<-entered
	go func() { results <- s.b.Close() }()
	givenTime()
	select {
	case err := <-results:
		t.Errorf("a Close returned, with error %v, while a callback was running", err)
		results <- nil
	default:
	}
	close(leave)
	for range 2 {
		if err := next(t, "Close", results); err != nil {
			t.Errorf("Close: got error %v, want none", err)
		}
	}
	if err := loop.Close(); err != nil {
		t.Errorf("close of the loop: got error %v, want none", err)
	}
}

// A Close inside the last callback of a loop was forgotten.
func TestBackend_Close_inTheLastCallbackOfALoopIsCarriedOut(t *testing.T) {
	before := backendtest.OpenFiles(t)
	w := newWatcher()
	var b netio.Backend
	w.AtClosed = func(netio.Endpoint) {
		if err := b.Close(); err != nil { // the last connection has gone
			t.Errorf("Close: got error %v, want none", err)
		}
	}
	loop, s, ended := endingLoop(t, w)
	b = s.b
	c, ep := s.dialRaw(t)
	loop.Post(func() {
		loop.Post(func() { _ = ep.Close() }) // accepted, runs in the drain
		loop.Stop()
	})
	if err := next(t, "Run", ended); err != nil {
		t.Errorf("Run: got error %v, want none", err)
	}
	if err := loop.Close(); err != nil {
		t.Errorf("close of the loop: got error %v, want none", err)
	}
	_ = c.Close()
	if n := backendtest.OpenFiles(t); n > before {
		t.Errorf("open descriptors: got %d, want %d", n, before)
	}
}
