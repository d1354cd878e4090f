// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"errors"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/rdma/internal/fi"
)

// liar is a stranger that speaks our protocol, and keeps nothing of what it says.
type liar struct {
	*stranger
	mem  []byte
	mr   *fi.MR
	ring *fi.Ring
}

// says is what every liar says: that it receives up to 1 MiB.
var says = rdma.MarshalGreeting(rdma.Greeting{1 << 20, 1 << 20, 4, 2})

func newLiar(t *testing.T, x *stranger) *liar {
	t.Helper()
	l := &liar{stranger: x, mem: newRegion(t, 8192), ring: fi.NewRing(1, 1, 1)}
	var err error
	if l.mr, err = x.domain.Register(l.mem); err != nil {
		t.Fatalf("register memory: got error %v, want none", err)
	}
	t.Cleanup(func() {
		if err := l.mr.Close(); err != nil {
			t.Error(err)
		}
		l.ring.Free()
	})
	l.ring.Drains[0] = x.cq.Drain()
	return l
}

// post posts a request about the first n bytes of the memory.
func (l *liar) post(t *testing.T, kind uint16, n int) {
	t.Helper()
	op := &l.ring.Ops[0]
	*op = fi.Op{EP: l.ep.Handle(), Kind: kind, Flags: fi.Completion, Count: 1}
	op.Pieces[0] = fi.Piece{Base: uint64(uintptr(unsafe.Pointer(&l.mem[0]))), Len: uint64(n), Desc: l.mr.Desc()}
	if l.ring.Turn(1, 0, 0); op.Err() != 0 {
		t.Fatalf("post: got error %v, want none", op.Err())
	}
}

// completion returns the next one.
func (l *liar) completion(t *testing.T) fi.Completed {
	t.Helper()
	for limit := time.Now().Add(backendtest.Patience); time.Now().Before(limit); {
		if l.ring.Turn(0, 1, 1) > 0 {
			return l.ring.Completed[0]
		}
	}
	t.Fatalf("got no completion for %v, want one", backendtest.Patience)
	return fi.Completed{}
}

// TestEndpoint_aPeerThatHasLessRoomThanItSays gets a message that is longer than the buffer
// that waits for it, which ends the connection for both.
func TestEndpoint_aPeerThatHasLessRoomThanItSays(t *testing.T) {
	x := newStranger(t, loopback(), true)
	pep, err := x.fabric.OpenPEP(x.info)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pep.Close() }()
	err = errors.Join(pep.Bind(x.eq), pep.Listen())
	addr, nameErr := pep.Name()
	if err := errors.Join(err, nameErr); err != nil {
		t.Fatalf("listen: got error %v, want none", err)
	}
	w := newWatcher()
	b := openBackend(t, w, rdma.Config{Provider: provider()})
	region := newRegion(t, 4096)
	if err := b.OpenEndpoint(addr, netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	request := x.event(t)
	x.open(t, request.Info)
	l := newLiar(t, x)
	l.post(t, fi.Recv, 100)
	if err := x.ep.Accept(says); err != nil {
		t.Fatalf("accept: got error %v, want none", err)
	}
	request.Info.Free()
	x.event(t)
	ep := next(t, "OnConnectionEstablished", w.Established)
	if err := ep.Send(7, nil, region[:2000]); err != nil {
		t.Fatalf("Send: got error %v, want none", err)
	}
	if done := l.completion(t); done.Err() != fi.ETRUNC && !errors.Is(done.Err(), syscall.EIO) { // verbs does not say more
		t.Errorf("what was received into 100 bytes: got error %v, want %v or %v", done.Err(), fi.ETRUNC, syscall.EIO)
	}
	if err := x.ep.Shutdown(); err != nil { // on sockets it may have done so itself
		t.Logf("shut down: %v", err)
	}
	end := next(t, "OnConnectionClosed", w.Closed)
	if end.Cause == nil {
		t.Error("cause: got none, want that the message was refused or that the peer has gone")
	}
	if got := len(w.Completed) + len(end.Keys); got != 1 {
		t.Errorf("the key of the message: got it %d times, want once", got)
	}
}

// TestEndpoint_aMessageThatIsTooLongEndsItsConnection comes from a peer that does not keep to
// what it was told.
func TestEndpoint_aMessageThatIsTooLongEndsItsConnection(t *testing.T) {
	s := serve(t, newWatcher(), rdma.Config{}, netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1000}})
	_, kept := s.dial(t, newWatcher(), rdma.Config{}, netio.Params{})
	x := newStranger(t, s.l.Addr(), false)
	x.open(t, x.info)
	l := newLiar(t, x)
	l.post(t, fi.Recv, 100)
	if err := x.ep.Connect(x.info, says); err != nil {
		t.Fatalf("connect: got error %v, want none", err)
	}
	if e := x.event(t); e.Type != fi.Connected {
		t.Fatalf("event: got %+v, want connected", e)
	}
	ep := next(t, "OnConnectionEstablished", s.Established)
	l.post(t, fi.Send, 1001)
	end := next(t, "OnConnectionClosed", s.Closed)
	var op *netio.OpError
	want, bad := netio.ErrMessageLength, uint64(1)
	if provider() == rdma.ProviderVerbs { // which says only that something was wrong
		want, bad = syscall.EIO, 0
	}
	if end.Endpoint != ep || !errors.Is(end.Cause, want) || !errors.As(end.Cause, &op) {
		t.Errorf("OnConnectionClosed: got cause %v, want an *OpError that wraps %v", end.Cause, want)
	}
	if got := s.b.Stats().BadMessages; got != bad || len(s.Data) > 0 {
		t.Errorf("got %d messages and Stats.BadMessages %d, want none and %d", len(s.Data), got, bad)
	}
	onLoop(t, s.b.Loop(), func() {}) // and the other connection lives
	if len(s.Closed) > 0 || kept.Close() != nil {
		t.Error("another connection: got it closed, want it open")
	}
}

// TestEndpoint_aPeerThatIgnoresItsWindow: what comes to shared buffers during a pause is copied, and a peer that
// sends more than it was given credit for takes no memory by that.
func TestEndpoint_aPeerThatIgnoresItsWindow(t *testing.T) {
	const window = 16
	pausing := newWatcher()
	pausing.AtEstablished = func(ep netio.Endpoint) { ep.PauseReceive() }
	s := serve(t, pausing, rdma.Config{}, netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1000, Buffers: window, Shared: true}})
	x := newStranger(t, s.l.Addr(), false)
	x.open(t, x.info)
	l := newLiar(t, x)
	if err := x.ep.Connect(x.info, says); err != nil {
		t.Fatalf("connect: got error %v, want none", err)
	}
	x.event(t)
	next(t, "OnConnectionEstablished", s.Established)
	for range window {
		l.post(t, fi.Send, 1000)
		l.completion(t)
	}
	for range 10 {
		onLoop(t, s.b.Loop(), func() {})
	}
	if got := s.b.Stats().BadMessages; got != 0 || len(s.Closed) > 0 {
		t.Fatalf("as many messages as the window: got %d bad ones, and %d ends, want none", got, len(s.Closed))
	}
	l.post(t, fi.Send, 1000)
	end := next(t, "OnConnectionClosed", s.Closed)
	if got := s.b.Stats().BadMessages; !errors.Is(end.Cause, rdma.ErrIncompatible) || got != 1 {
		t.Errorf("one message more: got cause %v and Stats.BadMessages %d, want %v and 1", end.Cause, got, rdma.ErrIncompatible)
	}
}
