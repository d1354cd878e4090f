// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"tagbus/internal/invariants"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// sharedSend returns the configuration of a backend whose endpoints share n
// send buffers.
func sharedSend(n int) tcp.Config {
	return tcp.Config{Config: netio.Config{SharedSend: netio.SharedBuffers{Buffers: n, BufferBytes: 100}}}
}

// takeBuffer takes a buffer that must be free.
func takeBuffer(t *testing.T, ep netio.Endpoint) *netio.Buffer {
	t.Helper()
	b, err := ep.Buffer()
	if err != nil {
		t.Fatalf("Buffer: got error %v, want none", err)
	}
	return b
}

// wantNoBuffer asks for a buffer that is not there.
func wantNoBuffer(t *testing.T, ep netio.Endpoint) {
	t.Helper()
	if _, err := ep.Buffer(); !errors.Is(err, netio.ErrNoResources) {
		t.Fatalf("Buffer with none free: got error %v, want %v", err, netio.ErrNoResources)
	}
}

// readyWatcher notes the endpoints of OnSendReady, and takes a buffer there, or not.
type readyWatcher struct {
	*watcher
	who   chan netio.Endpoint
	taken chan *netio.Buffer // nil: leave it
}

func (w *readyWatcher) OnSendReady(ep netio.Endpoint) {
	if w.taken != nil {
		b, err := ep.Buffer()
		if err != nil {
			panic(err)
		}
		w.taken <- b
	}
	w.who <- ep
}

// serveShared connects n endpoints that share one send buffer.
func serveShared(t *testing.T, n int) (*readyWatcher, netio.Backend, []netio.Endpoint) {
	t.Helper()
	w := &readyWatcher{watcher: newWatcher(), who: make(chan netio.Endpoint, backendtest.Watched)}
	b := openBackend(t, w, sharedSend(1))
	l, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	var eps []netio.Endpoint
	for range n {
		dialRaw(t, l.Addr())
		eps = append(eps, next(t, "OnConnectionEstablished", w.Established))
	}
	return w, b, eps
}

func TestEndpoint_thoseThatWaitForASharedBufferAreAskedInTurn(t *testing.T) {
	w, b, eps := serveShared(t, 4)
	held := takeBuffer(t, eps[0])
	for _, ep := range eps[1:] {
		wantNoBuffer(t, ep)
		onLoop(t, b.Loop(), func() {}) // it waits now
	}
	onLoop(t, b.Loop(), func() { w.taken = make(chan *netio.Buffer, backendtest.Watched) })
	for _, want := range eps[1:] {
		held.Release()
		if got := next(t, "OnSendReady", w.who); got != want {
			t.Fatalf("OnSendReady: got %v, want %v", got.Remote(), want.Remote())
		}
		onLoop(t, b.Loop(), func() {})
		if len(w.who) > 0 {
			t.Fatal("OnSendReady for one released buffer that was taken: got two, want one")
		}
		held = next(t, "a taken buffer", w.taken)
	}
	held.Release()
}

func TestEndpoint_aSharedBufferThatIsNotTakenGoesToTheNext(t *testing.T) {
	w, b, eps := serveShared(t, 4)
	held := takeBuffer(t, eps[0])
	for _, ep := range eps[1:] {
		wantNoBuffer(t, ep)
		onLoop(t, b.Loop(), func() {})
	}
	if err := eps[1].Close(); err != nil { // it will not take it
		t.Fatalf("Close: got error %v, want none", err)
	}
	next(t, "OnConnectionClosed", w.Closed)
	held.Release()
	for _, want := range eps[2:] { // nor will the first of these
		if got := next(t, "OnSendReady", w.who); got != want {
			t.Errorf("OnSendReady: got %v, want %v", got.Remote(), want.Remote())
		}
	}
}

func TestOpener_modeRDMAIsAnsweredWithAWarning(t *testing.T) {
	var log bytes.Buffer
	cfg := tcp.Config{Config: netio.Config{Mode: netio.ModeRDMA}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if got := openBackend(t, newWatcher(), cfg).Name(); got != "tcp" {
		t.Errorf("Name: got %q, want tcp", got)
	}
	if !strings.Contains(log.String(), "this backend uses TCP") {
		t.Errorf("log: got %q, want a warning that TCP is used", log.String())
	}
}

// TestEndpoint_Send_reportsMemoryThatChangesTooEarly looks at both ways to end a send, its
// completion and the end of its endpoint.
func TestEndpoint_Send_reportsMemoryThatChangesTooEarly(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("this build does not check: see the run with -tags invariants")
	}
	reports, stop := invariants.Record()
	defer stop()
	for _, size := range []int{10, 100_000} {
		w := newWatcher()
		s := serve(t, w, tcp.Config{}, netio.Params{})
		_, ep := s.dialRaw(t)
		data := make([]byte, size)
		var err error
		onLoop(t, s.b.Loop(), func() { // nothing is sent before this returns
			err = ep.Send(1, nil, data[:size/2], data[size/2:])
			data[size-1] = 1
		})
		if err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
		next(t, "OnSendCompleted", w.Completed)
		onLoop(t, s.b.Loop(), func() {
			err = errors.Join(ep.Send(2, nil, data), ep.Close())
			data[0] = 1
		})
		if err != nil {
			t.Fatalf("Send and Close: got error %v, want none", err)
		}
		next(t, "OnConnectionClosed", w.Closed)
		got := reports()
		if len(got) != 2 || !strings.Contains(got[0], "key 1 ") || !strings.Contains(got[1], "key 2 ") {
			t.Errorf("reports of %d bytes: got %q, want one for each of the keys 1 and 2", size, got)
		}
	}
}

// TestEndpoint_thatCannotBeMadeLeavesTheLoopAlone fails to open endpoints on a
// goroutine of its own while others begin and stop waiting for the shared buffer. The
// race detector sees what the two have in common.
func TestEndpoint_thatCannotBeMadeLeavesTheLoopAlone(t *testing.T) {
	w, b, eps := serveShared(t, 2)
	held := takeBuffer(t, eps[0])
	wantNoBuffer(t, eps[1])
	for range 10 {
		if err := tcp.FailToOpen(b); err == nil {
			t.Fatal("an endpoint with too many receive buffers: got no error, want one")
		}
	}
	held.Release()
	next(t, "OnSendReady", w.who)
}

func TestOpener_mayBeUsedAtOnce(t *testing.T) {
	loop := backendtest.StartLoop(t, reactor.Config{})
	opener := tcp.Opener(loop.EventLoop, tcp.Config{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			b, err := opener(newWatcher())
			if err != nil {
				t.Errorf("open: got error %v, want none", err)
				return
			}
			_ = b.Close()
		})
	}
	wg.Wait()
}

// TestEndpoint_thatHelpedItselfIsNotInvited: an endpoint waits for a buffer that the
// same call then finds after all. Its next refusal is not answered before a buffer is
// free.
func TestEndpoint_thatHelpedItselfIsNotInvited(t *testing.T) {
	w, b, eps := serveShared(t, 2)
	held := takeBuffer(t, eps[0])
	withdraw := tcp.Refuse(eps[1])
	onLoop(t, b.Loop(), func() {}) // it waits now
	if !withdraw() {
		t.Fatal("withdraw: got an answered refusal, want none")
	}
	held.Release()
	for range 3 { // turns in which it is invited
		onLoop(t, b.Loop(), func() {})
	}
	held = takeBuffer(t, eps[0])
	wantNoBuffer(t, eps[1])
	for range 3 {
		onLoop(t, b.Loop(), func() {})
	}
	if len(w.who) > 0 {
		t.Error("OnSendReady while no buffer is free: got one, want none")
	}
	held.Release()
	if got := next(t, "OnSendReady", w.who); got != eps[1] {
		t.Errorf("OnSendReady: got %v, want %v", got.Remote(), eps[1].Remote())
	}
}

// TestEndpoint_Buffer_takenInEachCompletionIsNotKept: one endpoint sends the only buffer
// without end. Another one that has asked for it is called and gets it.
func TestEndpoint_Buffer_takenInEachCompletionIsNotKept(t *testing.T) {
	w, b, eps := serveShared(t, 2)
	var stop bool // the loop only
	fill := func(b *netio.Buffer, err error) {
		if err != nil || stop {
			return // OnSendReady is for the other
		}
		if err := errors.Join(b.WriteUint8(1), eps[0].SendBuffer(b)); err != nil {
			t.Errorf("WriteUint8 and SendBuffer: got error %v, want none", err)
		}
	}
	w.AtCompleted = func(netio.Completion) {
		<-w.Completed
		fill(eps[0].Buffer())
	}
	onLoop(t, b.Loop(), func() {
		w.taken = make(chan *netio.Buffer, backendtest.Watched) // each that is told must get it
		fill(eps[0].Buffer())
	})
	onLoop(t, b.Loop(), func() { wantNoBuffer(t, eps[1]) })
	for _, want := range []netio.Endpoint{eps[1], eps[0]} { // in the order of asking
		if got := next(t, "OnSendReady", w.who); got != want {
			t.Errorf("OnSendReady: got %v, want %v", got.Remote(), want.Remote())
		}
		(<-w.taken).Release()
	}
	onLoop(t, b.Loop(), func() { stop = true })
}
