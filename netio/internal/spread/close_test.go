// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"testing"

	"tagbus/internal/goroutine"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
)

// TestCloseWithoutTheLoop: the last callbacks come on the goroutine of Close, and a
// panic of one leaves the others for the next call.
func TestCloseWithoutTheLoop(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	first, _ := x.accept(t)
	second, _ := x.accept(t)
	x.loop.End(t)
	x.workers[0].h.OnConnectionClosed(first, nil, nil)
	x.workers[0].h.OnConnectionClosed(second, nil, nil)
	x.AtClosed = func(netio.Endpoint) {
		x.AtClosed = nil
		panic("on purpose")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Errorf("Close: got no panic, want that of the callback")
			}
		}()
		_ = x.b.Close()
	}()
	if err := x.b.Close(); err != nil || len(x.Closed) != 2 {
		t.Errorf("Close again: got error %v and %d ends, want none and 2", err, len(x.Closed))
	}
}

// TestAPanicInTheLastCallbacks: Close goes on behind it.
func TestAPanicInTheLastCallbacks(t *testing.T) {
	x := newBed(t, reactor.Config{Logger: slog.New(slog.DiscardHandler)}, 1)
	for range 2 {
		inner, ep := x.accept(t)
		ep.PauseReceive()
		x.workers[0].h.OnData(inner, []byte("one"))
		x.workers[0].h.OnConnectionClosed(inner, nil, io.EOF)
	}
	backendtest.OnLoop(t, x.b.Loop(), func() {
		x.AtClosed = func(netio.Endpoint) {
			x.AtClosed = nil
			panic("on purpose")
		}
	})
	if err := x.b.Close(); err != nil || len(x.Closed) != 2 {
		t.Errorf("Close: got error %v and %d ends, want none and 2", err, len(x.Closed))
	}
}

// TestCloseOnAnotherLoop does not wait: neither for itself, on the loop of a worker, nor
// for one that may wait for it.
func TestCloseOnAnotherLoop(t *testing.T) {
	x := newBed(t, reactor.Config{}, 2)
	release := x.hold(t)
	leave := goroutine.EnterLoop()
	if err := x.b.Close(); err != nil { // returns, though nothing can be told
		t.Errorf("Close on another loop: got error %v, want none", err)
	}
	leave()
	release()
}

// TestTwoClosesWithoutTheLoop: one makes the callbacks, in which Close may be called
// again, and the other waits.
func TestTwoClosesWithoutTheLoop(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	inner, _ := x.accept(t)
	x.loop.End(t)
	x.workers[0].h.OnConnectionClosed(inner, nil, nil)
	second := make(chan error, 1)
	x.AtClosed = func(netio.Endpoint) {
		begun := make(chan struct{})
		go func() { close(begun); second <- x.b.Close() }()
		<-begun
		if err := x.b.Close(); err != nil {
			t.Errorf("Close in a callback: got error %v, want none", err)
		}
	}
	if err := errors.Join(x.b.Close(), backendtest.Next(t, "second Close", second)); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
}

// TestCloseWhileTheLoopEnds: each connection is reported once, and Close returns.
func TestCloseWhileTheLoopEnds(t *testing.T) {
	ends := []struct {
		name string
		end  func(*reactor.EventLoop)
	}{
		{"by Stop", (*reactor.EventLoop).Stop},
		{"by Goexit", func(l *reactor.EventLoop) { l.Post(runtime.Goexit) }},
	}
	for _, tt := range ends {
		for try := range 50 {
			t.Run(tt.name+" "+strconv.Itoa(try), func(t *testing.T) {
				loop := backendtest.NewRunner(t, reactor.Config{OnPanic: func(*reactor.Panic) {}})
				loop.Start()
				x := newBedOn(t, loop, 1)
				inner, _ := x.accept(t)
				x.workers[0].atClose = func() {
					tt.end(loop.EventLoop)
					if try%2 == 0 { // else it ends meanwhile
						<-loop.Done()
					}
					x.workers[0].h.OnConnectionClosed(inner, nil, nil)
				}
				closed := make(chan error, 1)
				go func() { closed <- x.b.Close() }()
				if err := backendtest.Next(t, "Close", closed); err != nil || len(x.Closed) != 1 {
					t.Errorf("Close: got error %v and %d ends, want none and 1", err, len(x.Closed))
				}
				<-loop.Done()
				_ = loop.Close() // says so if a callback has ended it
			})
		}
	}
}

// TestALoopThatHasEndedGetsNoConnections: the others do.
func TestALoopThatHasEndedGetsNoConnections(t *testing.T) {
	x := newBed(t, reactor.Config{}, 2)
	x.workers[0].loop.ended.Store(true)
	if err := x.b.OpenEndpoint(peer, netio.Params{}); err != nil {
		t.Errorf("OpenEndpoint: got error %v, want none", err)
	}
	backendtest.Next(t, "params of the worker whose loop runs", x.workers[1].params)
}

// TestClosedWhileItsEndIsOnItsWay: a connection that has ended has no room until
// OnConnectionClosed; then it is closed.
func TestClosedWhileItsEndIsOnItsWay(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	inner, ep := x.accept(t)
	inner.sendErr = netio.ErrClosed
	try := func(want error) {
		t.Helper()
		_, err := ep.Buffer()
		_, errDirect := ep.SendDirect(1, nil, nil)
		for _, err := range []error{err, ep.SendBuffer(nil), ep.Send(1, nil, nil), ep.SendCopy(1, nil, nil), errDirect} {
			if !errors.Is(err, want) {
				t.Errorf("send: got error %v, want %v", err, want)
			}
		}
	}
	try(netio.ErrNoResources)
	x.AtClosed = func(netio.Endpoint) { try(netio.ErrClosed) }
	x.workers[0].h.OnConnectionClosed(inner, nil, io.EOF)
	backendtest.Next(t, "OnConnectionClosed", x.Closed)
	if got := inner.forgotten.Load(); got != 1 {
		t.Errorf("Forgotten: got %d calls, want 1", got)
	}
}

// TestStatsDoNotUnderflow: a connection that was not reported is counted neither
// as open nor as closed, whatever the worker has counted of it so far.
func TestStatsDoNotUnderflow(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	w := x.workers[0]
	if err := x.b.OpenEndpoint(peer, netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	inner := &fakeEndpoint{memory: new(fakeMemory), limit: -1, context: (<-w.params).Context}
	accepted, _ := x.accept(t)
	backendtest.OnLoop(t, x.b.Loop(), func() {
		w.stats = netio.Stats{Accepted: 1, Opened: 1}
		w.h.OnConnectionEstablished(inner)
		w.h.OnData(accepted, []byte("one")) // the worker counts it later
		_ = x.b.Close()
	})
	x.settle(t)
	if got, want := x.b.Stats(), (netio.Stats{Accepted: 1}); got != want {
		t.Errorf("Stats before the worker has closed it: got %+v, want %+v", got, want)
	}
}
