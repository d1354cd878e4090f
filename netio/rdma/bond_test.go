// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"bytes"
	"errors"
	"syscall"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/rdma"
)

// rxm is the configuration of tests that need only one.
var rxm = rdma.Config{Provider: "tcp;ofi_rxm"}

// Kinds of frames, as frame.go has them.
const (
	hello uint8 = iota + 1
	accept
	reject
	ready
	data
	credit
	goodbye
	gone
)

func TestEndpoint_frames(t *testing.T) {
	greeting := rdma.MarshalGreeting(rdma.Greeting{1 << 20, 100, 16, 8})
	tests := []struct {
		name string
		f    rdma.Frame
		rest []byte
		ok   bool
	}{
		{"hello with an address", rdma.Frame{Kind: hello, Value: 7}, append(greeting, "address"...), true},
		{"hello without address", rdma.Frame{Kind: hello, Value: 7}, greeting, false},
		{"hello with an address that is too long", rdma.Frame{Kind: hello, Value: 7}, append(greeting, make([]byte, 97)...), false},
		{"hello of number 0", rdma.Frame{Kind: hello}, append(greeting, "address"...), false},
		{"accept", rdma.Frame{Kind: accept, To: 7, Value: 8}, greeting, true},
		{"accept with half a greeting", rdma.Frame{Kind: accept, To: 7, Value: 8}, greeting[:10], false},
		{"data", rdma.Frame{Kind: data, To: 7}, []byte("x"), true},
		{"no data", rdma.Frame{Kind: data, To: 7}, nil, false},
		{"a credit", rdma.Frame{Kind: credit, To: 7, Value: 1}, nil, true},
		{"no credit", rdma.Frame{Kind: credit, To: 7}, nil, false},
		{"credit without end", rdma.Frame{Kind: credit, To: 7, Value: 1 << 63}, nil, false},
		{"goodbye", rdma.Frame{Kind: goodbye, To: 7, Value: 99}, nil, true},
		{"a kind that there is not", rdma.Frame{Kind: gone + 1}, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := rdma.PutFrame(tt.f, tt.rest)
			f, rest, ok := rdma.ParseFrame(b)
			if ok != tt.ok || ok && (f != tt.f || !bytes.Equal(rest, tt.rest)) {
				t.Errorf("ParseFrame: got %+v, %q and %t, want %+v, %q and %t", f, rest, ok, tt.f, tt.rest, tt.ok)
			}
			if _, _, ok := rdma.ParseFrame(b[:rdma.FrameBytes-1]); ok {
				t.Errorf("ParseFrame of a part: got true, want false")
			}
		})
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(rdma.PutFrame(rdma.Frame{Kind: data, To: 7, Value: 3}, []byte("data")))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: somebody\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, rest, ok := rdma.ParseFrame(b)
		if !ok {
			return
		}
		again, rest2, ok := rdma.ParseFrame(rdma.PutFrame(got, rest))
		if !ok || again != got || !bytes.Equal(rest, rest2) {
			t.Errorf("frame %x: got %+v, and %+v when it was written and read again", b, got, again)
		}
	})
}

func TestBackend_OpenEndpoint_aSilentHostTimesOutWithoutConnection(t *testing.T) {
	w := newWatcher()
	b := openBackend(t, w, rxm)
	p := netio.Params{ConnectTimeout: 50 * time.Millisecond}
	if err := b.OpenEndpoint(backendtest.TakenPort(t, rdmHost.Addr()), p); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	if err := next(t, "OnConnectionRefused", w.Refused); !errors.Is(err, netio.ErrTimeout) {
		t.Errorf("OnConnectionRefused: got error %v, want %v", err, netio.ErrTimeout)
	}
}

// TestEndpoint_aPeerThatIsKilledGivesSendsBack is about a process that is no more, while
// there is something to send to it: its end does not show otherwise.
func TestEndpoint_aPeerThatIsKilledGivesSendsBack(t *testing.T) {
	t.Setenv("NETIO_RDMA_PROV", rxm.Provider)
	region := newRegion(t, 1<<20)
	w := newWatcher()
	l, err := openBackend(t, w, rxm).OpenListenEndpoint(rdmHost, netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	child := startChild(t, l.Addr())
	defer func() { _ = child.Wait() }()
	ep := next(t, "OnConnectionEstablished", w.Established)
	next(t, "a message", w.Data)
	if err := child.Process.Kill(); err != nil {
		t.Fatalf("kill: got error %v, want none", err)
	}
	_ = child.Wait()
	sends := 0
	for i := range 4 { // large ones, which the other side would fetch
		if err := ep.Send(netio.Key(i), nil, region[:500_000]); err == nil {
			sends++
		}
	}
	end := next(t, "OnConnectionClosed", w.Closed)
	var op *netio.OpError
	if end.Cause == nil || !errors.As(end.Cause, &op) {
		t.Errorf("cause: got %v, want an *OpError", end.Cause)
	}
	if got := len(end.Keys) + len(w.Completed); got != sends {
		t.Errorf("keys: got %d completed and %d given back, want %d in all", len(w.Completed), len(end.Keys), sends)
	}
}

func TestBackend_roundsWithoutConnectionsLeaveNothingBehind(t *testing.T) {
	rounds := netiotest.Few(300, 30)
	w, server := newWatcher(), newWatcher()
	p := netio.Params{Buffered: netio.BufferedParams{Buffers: 2}, ZeroCopy: netio.ZeroCopyParams{Region: newRegion(t, 64<<10)}}
	l, err := openBackend(t, server, rxm).OpenListenEndpoint(rdmHost, p)
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	client := openBackend(t, w, rxm)
	round := func() {
		if err := client.OpenEndpoint(l.Addr(), p); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		ep := next(t, "OnConnectionEstablished", w.Established)
		next(t, "OnConnectionEstablished", server.Established)
		if err := ep.Send(7, []byte("head"), p.ZeroCopy.Region[:40_000]); err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
		next(t, "a message", server.Data)
		if err := ep.Close(); err != nil {
			t.Fatalf("Close: got error %v, want none", err)
		}
		next(t, "OnConnectionClosed", w.Closed)
		next(t, "OnConnectionClosed", server.Closed)
	}
	wantNothingLeft(t, rounds, round)
}

// TestBackend_twoProcessesOverSharedMemory is about a provider that has neither addresses
// of the internet nor descriptors to wait for, as devices of EFA.
func TestBackend_twoProcessesOverSharedMemory(t *testing.T) {
	besideDevice(t)
	t.Setenv("NETIO_RDMA_PROV", "shm")
	w := newWatcher()
	l, err := openBackend(t, w, rdma.Config{Provider: "shm"}).OpenListenEndpoint(rdmHost, netio.Params{Buffered: netio.BufferedParams{Buffers: 4}})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	if raw, ok := rdma.RawAddr(l.Addr()); !ok || !bytes.HasPrefix(raw, []byte("fi_shm://")) {
		t.Errorf("Addr: got %v, want that of shared memory", l.Addr())
	}
	child := startChild(t, l.Addr())
	ep := next(t, "OnConnectionEstablished", w.Established)
	if got := string(next(t, "a message", w.Data)); got != "I am here" {
		t.Errorf("message of the child: got %q, want %q", got, "I am here")
	}
	if err := sendText(ep, "hello"); err != nil {
		t.Errorf("SendBuffer: got error %v, want none", err)
	}
	next(t, "OnSendCompleted", w.Completed)
	// In order: a process that is killed may have held a lock in the memory of both,
	// for which libfabric 1.17 then waits for ever.
	if err := ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	if err := child.Wait(); err != nil {
		t.Errorf("the other process: got %v, want its end", err)
	}
}

// TestEndpoint_aPeerThatHasStoppedGivesMemoryBack is about sends that do not end: the other
// side would fetch them, but does nothing any more.
func TestEndpoint_aPeerThatHasStoppedGivesMemoryBack(t *testing.T) {
	t.Setenv("NETIO_RDMA_PROV", rxm.Provider)
	region := newRegion(t, 1<<20)
	w := newWatcher()
	b := openBackend(t, w, rxm)
	l, err := b.OpenListenEndpoint(rdmHost, netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	child := startChild(t, l.Addr())
	defer func() { _, _ = child.Process.Kill(), child.Wait() }()
	ep := next(t, "OnConnectionEstablished", w.Established)
	next(t, "a message", w.Data)
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatalf("stop: got error %v, want none", err)
	}
	const sends = 4
	for i := range sends {
		if err := ep.Send(netio.Key(i), nil, region[:500_000]); err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
	}
	for range 2 { // turns of the loop: they are posted
		onLoop(t, b.Loop(), func() {})
	}
	if err := ep.Close(); err != nil {
		t.Fatalf("Close: got error %v, want none", err)
	}
	end := next(t, "OnConnectionClosed", w.Closed)
	if got := len(end.Keys) + len(w.Completed); got != sends || end.Cause != nil {
		t.Errorf("end: got %d completed, and %d given back for %v, want %d in all and no cause", len(w.Completed), len(end.Keys), end.Cause, sends)
	}
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatalf("continue: got error %v, want none", err)
	}
}
