// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"errors"
	"io"
	"log/slog"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
)

func TestTheEndWaitsForWhatAPauseHasHeldBack(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	inner, ep := x.accept(t)
	release := x.hold(t)
	h := x.workers[0].h
	h.OnData(inner, []byte("one"))
	h.OnData(inner, []byte("two"))
	h.OnConnectionClosed(inner, []netio.Key{7}, io.EOF)
	ep.PauseReceive()
	release()
	x.settle(t)
	if len(x.Data) != 0 || len(x.Closed) != 0 {
		t.Fatalf("while paused: got %d messages and %d ends, want none", len(x.Data), len(x.Closed))
	}
	ep.ResumeReceive()
	end := backendtest.Next(t, "OnConnectionClosed", x.Closed)
	if end.Cause != io.EOF || len(end.Keys) != 1 || len(x.Data) != 2 { //nolint:errorlint // io.EOF is promised unwrapped
		t.Errorf("end: got cause %v and keys %v behind %d messages, want %v and one behind 2", end.Cause, end.Keys, len(x.Data), io.EOF)
	}
	if got := inner.memory.users.Load(); got != 0 {
		t.Errorf("memory: got %d users, want none", got)
	}
}

func TestABrokenConnectionEndsThoughPaused(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	inner, ep := x.accept(t)
	ep.PauseReceive()
	x.workers[0].h.OnData(inner, []byte("one"))
	x.workers[0].stats.MessagesReceived++
	x.workers[0].h.OnConnectionClosed(inner, nil, io.ErrUnexpectedEOF)
	end := backendtest.Next(t, "OnConnectionClosed", x.Closed)
	if !errors.Is(end.Cause, io.ErrUnexpectedEOF) || len(x.Data) != 0 {
		t.Errorf("end: got cause %v behind %d messages, want %v and none", end.Cause, len(x.Data), io.ErrUnexpectedEOF)
	}
	if got := inner.memory.users.Load(); got != 0 {
		t.Errorf("memory: got %d users, want none", got)
	}
	if got := x.b.Stats().MessagesReceived; got != 0 {
		t.Errorf("Stats.MessagesReceived: got %d, want 0: nobody was told", got)
	}
}

// TestCloseSilencesWhatIsOnItsWay: the keys of completions that come after Close
// are those of its end, and the cause is none whatever the worker says.
func TestCloseSilencesWhatIsOnItsWay(t *testing.T) {
	for _, whole := range []bool{false, true} {
		x := newBed(t, reactor.Config{}, 1)
		inner, ep := x.accept(t)
		h := x.workers[0].h
		backendtest.OnLoop(t, x.b.Loop(), func() {
			h.OnData(inner, []byte("one"))
			h.OnSendCompleted(netio.Completion{Endpoint: inner, Key: 1})
			h.OnSendReady(inner)
			h.OnConnectionClosed(inner, []netio.Key{2}, io.ErrUnexpectedEOF)
			var err error
			if whole {
				err = x.b.Close()
			} else {
				err = ep.Close()
			}
			if err != nil {
				t.Errorf("Close: got error %v, want none", err)
			}
		})
		end := backendtest.Next(t, "OnConnectionClosed", x.Closed)
		if len(end.Keys) != 2 || end.Keys[0] != 1 || end.Cause != nil {
			t.Errorf("end: got keys %v and cause %v, want [1 2] and none", end.Keys, end.Cause)
		}
		if len(x.Data)+len(x.Completed)+len(x.Ready) != 0 {
			t.Errorf("after Close: got %d, %d and %d callbacks, want none", len(x.Data), len(x.Completed), len(x.Ready))
		}
		if got := inner.memory.users.Load(); got != 0 {
			t.Errorf("memory: got %d users, want none", got)
		}
	}
}

func TestCloseTellsAnEndThatAPauseHasHeldBack(t *testing.T) {
	for _, whole := range []bool{false, true} {
		x := newBed(t, reactor.Config{}, 1)
		inner, ep := x.accept(t)
		ep.PauseReceive()
		x.workers[0].h.OnData(inner, []byte("one"))
		x.workers[0].h.OnConnectionClosed(inner, nil, io.EOF)
		x.settle(t)
		if whole {
			_ = x.b.Close()
		} else {
			_ = ep.Close()
		}
		if end := backendtest.Next(t, "OnConnectionClosed", x.Closed); end.Cause != nil || len(x.Data) != 0 {
			t.Errorf("end: got cause %v and %d messages, want none", end.Cause, len(x.Data))
		}
	}
}

func TestWhatCannotBeRetainedIsCopied(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	inner, _ := x.accept(t)
	inner.memory = nil
	var retain error
	x.AtData = func(ep netio.Endpoint, _ []byte) { _, retain = ep.Retain() }
	release := x.hold(t)
	data := []byte("one")
	x.workers[0].h.OnData(inner, data)
	copy(data, "xxx")
	release()
	if got := backendtest.Next(t, "OnData", x.Data); string(got) != "one" {
		t.Errorf("OnData: got %q, want %q", got, "one")
	}
	x.settle(t)
	if !errors.Is(retain, netio.ErrNoResources) {
		t.Errorf("Retain: got error %v, want %v", retain, netio.ErrNoResources)
	}
}

func TestAddressesAreFreeWhenTheEndWasTold(t *testing.T) {
	x := newBed(t, reactor.Config{}, 2)
	open := func(want error) {
		t.Helper()
		if err := x.b.OpenEndpoint(peer, netio.Params{Context: "mine"}); !errors.Is(err, want) {
			t.Errorf("OpenEndpoint: got error %v, want %v", err, want)
		}
	}
	open(nil)
	open(netio.ErrEndpointExists)
	first := backendtest.Next(t, "params of the first worker", x.workers[0].params)
	release := x.hold(t)
	x.workers[0].h.OnConnectionRefused(peer, io.EOF)
	open(netio.ErrEndpointExists)
	release()
	if err := backendtest.Next(t, "OnConnectionRefused", x.Refused); !errors.Is(err, io.EOF) {
		t.Errorf("OnConnectionRefused: got %v, want %v", err, io.EOF)
	}
	open(nil)
	backendtest.Next(t, "params of the first worker", x.workers[0].params)
	inner := &fakeEndpoint{memory: new(fakeMemory), limit: -1, context: first.Context}
	x.workers[0].h.OnConnectionEstablished(inner)
	ep := backendtest.Next(t, "OnConnectionEstablished", x.Established)
	backendtest.OnLoop(t, x.b.Loop(), func() {
		if ep.Context() != "mine" {
			t.Errorf("Context: got %v, want that of OpenEndpoint", ep.Context())
		}
	})
	open(netio.ErrEndpointExists)
	x.workers[0].h.OnConnectionClosed(inner, nil, io.EOF)
	backendtest.Next(t, "OnConnectionClosed", x.Closed)
	open(nil)
}

func TestAPanicEndsItsEndpointOnly(t *testing.T) {
	for _, name := range []string{"OnConnectionEstablished", "OnData", "OnSendCompleted"} {
		t.Run(name, func(t *testing.T) {
			x := newBed(t, reactor.Config{Logger: slog.New(slog.DiscardHandler)}, 1)
			other, _ := x.accept(t)
			backendtest.OnLoop(t, x.b.Loop(), func() {
				switch name {
				case "OnConnectionEstablished":
					x.AtEstablished = func(netio.Endpoint) { panic("on purpose") }
				case "OnData":
					x.AtData = func(netio.Endpoint, []byte) { panic("on purpose") }
				default:
					x.AtCompleted = func(netio.Completion) { panic("on purpose") }
				}
			})
			h := x.workers[0].h
			inner, _ := x.accept(t)
			if name != "OnConnectionEstablished" {
				h.OnData(inner, []byte("one"))
				h.OnSendCompleted(netio.Completion{Endpoint: inner, Key: 3})
			}
			x.settle(t)
			backendtest.OnLoop(t, x.b.Loop(), func() { x.AtEstablished, x.AtData, x.AtCompleted = nil, nil, nil })
			if inner.closed.Load() != 1 || other.closed.Load() != 0 {
				t.Errorf("Close: got %d and %d calls, want 1 for the one that panicked", inner.closed.Load(), other.closed.Load())
			}
			h.OnData(inner, []byte("two"))
			h.OnConnectionClosed(inner, nil, nil)
			if end := backendtest.Next(t, "OnConnectionClosed", x.Closed); !errors.Is(end.Cause, errPanicked) {
				t.Errorf("cause: got %v, want %v", end.Cause, errPanicked)
			}
			h.OnData(other, []byte("unharmed"))
			for string(backendtest.Next(t, "OnData", x.Data)) != "unharmed" {
			}
			if got := inner.memory.users.Load(); got != 0 {
				t.Errorf("memory: got %d users, want none", got)
			}
		})
	}
}

func TestWhatBeginsAfterCloseIsNotReported(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	if err := x.b.OpenEndpoint(peer, netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	w := x.workers[0]
	inner := &fakeEndpoint{memory: new(fakeMemory), limit: -1, context: (<-w.params).Context}
	backendtest.OnLoop(t, x.b.Loop(), func() {
		w.stats = netio.Stats{Opened: 1, Closed: 1, Refused: 1}
		w.h.OnConnectionEstablished(inner)
		w.h.OnConnectionRefused(peer, io.EOF)
		w.h.OnConnectionClosed(inner, nil, nil)
		_ = x.b.Close()
	})
	if err := x.b.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	if len(x.Established)+len(x.Refused)+len(x.Closed) != 0 {
		t.Errorf("callbacks after Close: got %d, %d and %d, want none", len(x.Established), len(x.Refused), len(x.Closed))
	}
	if got := x.b.Stats(); got != (netio.Stats{}) {
		t.Errorf("Stats: got %+v, want nothing", got)
	}
	if err := x.b.OpenEndpoint(peer, netio.Params{}); !errors.Is(err, netio.ErrClosed) {
		t.Errorf("OpenEndpoint after Close: got error %v, want %v", err, netio.ErrClosed)
	}
	if _, err := x.b.OpenListenEndpoint(peer, netio.Params{}); !errors.Is(err, netio.ErrClosed) {
		t.Errorf("OpenListenEndpoint after Close: got error %v, want %v", err, netio.ErrClosed)
	}
}
