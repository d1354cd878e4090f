// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"io"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
)

// begin delivers the first message of inner.
func (x *bed) begin(t *testing.T, inner *fakeEndpoint) {
	t.Helper()
	x.workers[0].h.OnData(inner, []byte("first"))
	backendtest.Next(t, "OnData", x.Data)
	x.settle(t)
	if got := inner.held.Load(); got != 0 {
		t.Errorf("held back when the first message was told: got %d, want not", got)
	}
}

func TestAWorkerDoesNotReceiveFarAhead(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	inner, ep := x.accept(t)
	x.begin(t, inner)
	release := x.hold(t)
	message := make([]byte, 100<<10)
	for range 10 {
		x.workers[0].h.OnData(inner, message)
	}
	if got := inner.held.Load(); got != 0 {
		t.Errorf("held back behind 1000 KiB: got %d, want not", got)
	}
	x.workers[0].h.OnData(inner, message)
	x.workers[0].h.OnData(inner, message) // one that was on its way
	if held, paused := inner.held.Load(), inner.paused.Load(); held != 1 || paused != 0 {
		t.Errorf("behind 1200 KiB: got held back %d and paused %d, want once and not, for the user has not paused", held, paused)
	}
	ep.PauseReceive()
	release()
	x.settle(t)
	ep.ResumeReceive()
	for range 12 {
		backendtest.Next(t, "OnData", x.Data)
	}
	x.settle(t)
	if held, paused, users := inner.held.Load(), inner.paused.Load(), inner.memory.users.Load(); held+paused+users != 0 {
		t.Errorf("when all is told: got held back %d, paused %d and %d users of memory, want none", held, paused, users)
	}
}

// TestAStrangerIsHeldBack until the user has judged its first message: what limits
// that limits what a stranger makes this side keep.
func TestAStrangerIsHeldBack(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	inner, ep := x.accept(t)
	release := x.hold(t)
	x.workers[0].h.OnData(inner, []byte("hello"))
	if got := inner.held.Load(); got != 1 {
		t.Errorf("held back behind the first message: got %d, want once", got)
	}
	ep.PauseReceive()
	release()
	x.settle(t)
	if got := inner.held.Load(); got != 1 {
		t.Errorf("held back while a pause keeps the first message: got %d, want once", got)
	}
	ep.ResumeReceive()
	backendtest.Next(t, "OnData", x.Data)
	x.settle(t)
	if got := inner.held.Load(); got != 0 {
		t.Errorf("held back when the first message was told: got %d, want not", got)
	}
}

// TestTheLimitOfAnEndpoint counts for what is on its way, too.
func TestTheLimitOfAnEndpoint(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	inner, _ := x.accept(t)
	inner.limit = 1000
	x.begin(t, inner)
	release := x.hold(t)
	x.workers[0].h.OnData(inner, make([]byte, 900))
	if got := inner.held.Load(); got != 0 {
		t.Errorf("held back behind 900 bytes of 1000: got %d, want not", got)
	}
	x.workers[0].h.OnData(inner, make([]byte, 900))
	if got := inner.held.Load(); got != 1 {
		t.Errorf("held back behind 1800 bytes of 1000: got %d, want once", got)
	}
	release()
}

// TestAPauseDoesNotKeepLargeMemory for a small message, which can be retained
// nevertheless.
func TestAPauseDoesNotKeepLargeMemory(t *testing.T) {
	x := newBed(t, reactor.Config{}, 1)
	inner, ep := x.accept(t)
	inner.memory.bytes = 100
	ep.PauseReceive()
	for _, message := range []string{"small", string(make([]byte, 60))} {
		x.workers[0].h.OnData(inner, []byte(message))
	}
	x.settle(t)
	if got := inner.memory.users.Load(); got != 1 {
		t.Errorf("memory of 100 bytes: got %d users for messages of 5 and 60 bytes, want 1", got)
	}
	var kept netio.Retained
	x.AtData = func(ep netio.Endpoint, data []byte) {
		if string(data) == "small" {
			kept, _ = ep.Retain()
		}
	}
	ep.ResumeReceive()
	for range 2 {
		backendtest.Next(t, "OnData", x.Data)
	}
	x.settle(t)
	if kept == nil || kept.Bytes() != 5 {
		t.Errorf("Retain of the small message: got %v, want its 5 bytes", kept)
	}
}

// TestAnEndInOrderWaitsForThePause though there is nothing before it.
func TestAnEndInOrderWaitsForThePause(t *testing.T) {
	for _, cause := range []error{io.EOF, netio.ErrMessageLength, netio.ErrTruncated} {
		x := newBed(t, reactor.Config{}, 1)
		inner, ep := x.accept(t)
		ep.PauseReceive()
		x.workers[0].h.OnConnectionClosed(inner, nil, &netio.OpError{Op: "receive", Err: cause})
		x.settle(t)
		if got := len(x.Closed); got != 0 {
			t.Errorf("%v while paused: got %d ends, want none", cause, got)
		}
		ep.ResumeReceive()
		backendtest.Next(t, "OnConnectionClosed", x.Closed)
	}
}
