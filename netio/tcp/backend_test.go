// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"net/netip"
	"runtime"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// TestBackend_Close_withoutLoop closes a backend whose loop has never run.
func TestBackend_Close_withoutLoop(t *testing.T) {
	before := backendtest.OpenFiles(t)
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		t.Fatalf("reactor.New: got error %v, want none", err)
	}
	w := newWatcher()
	b, err := tcp.Opener(loop, tcp.Config{})(w)
	if err != nil {
		t.Fatalf("open backend: got error %v, want none", err)
	}
	l, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	if err := b.OpenEndpoint(l.Addr(), netio.Params{Buffered: netio.BufferedParams{Buffers: 3}}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Errorf("Backend.Close: got error %v, want none", err)
		}
	}
	if err := l.Close(); !errors.Is(err, netio.ErrClosed) {
		t.Errorf("ListenEndpoint.Close: got error %v, want %v", err, netio.ErrClosed)
	}
	if err := loop.Close(); err != nil {
		t.Errorf("close the loop: got error %v, want none", err)
	}
	if n := len(w.Established) + len(w.Refused) + len(w.Closed); n != 0 {
		t.Errorf("callbacks: got %d, want none", n)
	}
	if after := backendtest.OpenFiles(t); after != before {
		t.Errorf("descriptors: got %d, want %d as before", after, before)
	}
}

// TestBackend_Close_beforeTheLoopRuns starts the loop after the backend was closed.
func TestBackend_Close_beforeTheLoopRuns(t *testing.T) {
	r := backendtest.NewRunner(t, reactor.Config{})
	b, err := tcp.Opener(r.EventLoop, tcp.Config{})(newWatcher())
	if err != nil {
		t.Fatalf("open backend: got error %v, want none", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("Backend.Close: got error %v, want none", err)
	}
	r.Start()
	onLoop(t, r, func() {})
	r.End(t)
	if err := r.Close(); err != nil {
		t.Errorf("close the loop: got error %v, want none", err)
	}
}

// TestBackend_manyEndpoints opens a thousand connections, uses and closes them, and
// measures what they hold.
func TestBackend_manyEndpoints(t *testing.T) {
	const n = 1000
	before := backendtest.OpenFiles(t)
	server, client := newWatcher(), newWatcher()
	s := serve(t, server, tcp.Config{}, netio.Params{})
	b := openBackend(t, client, tcp.Config{})
	baseline := backendtest.OpenFiles(t)
	heap := heapBytes()
	// A backend has one endpoint per address: the server listens on some, and
	// several clients would do as well.
	addrs := []netip.AddrPort{s.l.Addr()}
	for range n - 1 {
		l, err := s.b.OpenListenEndpoint(loopback, netio.Params{})
		if err != nil {
			t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
		}
		addrs = append(addrs, l.Addr())
	}
	for _, addr := range addrs {
		if err := b.OpenEndpoint(addr, netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
	}
	var eps []netio.Endpoint
	for range n {
		ep := next(t, "OnConnectionEstablished", client.Established)
		if err := ep.SendCopy(1, nil, pattern(5000, 1)); err != nil {
			t.Fatalf("SendCopy: got error %v, want none", err)
		}
		eps = append(eps, ep)
	}
	for range n {
		next(t, "OnData", server.Data)
		next(t, "OnSendCompleted", client.Completed)
	}
	for _, x := range []netio.Backend{b, s.b} {
		onLoop(t, x.Loop(), func() {})
		if used, _ := tcp.BackendBytes(x); used != 0 {
			t.Errorf("memory of %d idle endpoints: got %d bytes of blocks, want none", n, used)
		}
		tcp.TrimMemory(x)
		tcp.TrimMemory(x)
		if _, free := tcp.BackendBytes(x); free != 0 {
			t.Errorf("memory kept after a while: got %d bytes, want none", free)
		}
	}
	per := (heapBytes() - heap) / n
	t.Logf("heap: %d bytes for each connection, that is two endpoints, one listen endpoint and one used queue", per)
	if most := 32 << 10; per > most {
		t.Errorf("heap for each connection: got %d bytes, want at most %d", per, most)
	}
	for _, ep := range eps {
		if err := ep.Close(); err != nil {
			t.Errorf("Close: got error %v, want none", err)
		}
	}
	for range n {
		next(t, "OnConnectionClosed", client.Closed)
		next(t, "OnConnectionClosed", server.Closed)
	}
	if err := errors.Join(b.Close(), s.b.Close()); err != nil {
		t.Errorf("Backend.Close: got error %v, want none", err)
	}
	if after := backendtest.OpenFiles(t); after > baseline || after < before {
		t.Errorf("descriptors when all is closed: got %d, want at most the %d of before", after, baseline)
	}
}

func heapBytes() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestBackend_openAndCloseDoesNotGrow opens and closes connections in a row.
func TestBackend_openAndCloseDoesNotGrow(t *testing.T) {
	server, client := newWatcher(), newWatcher()
	p := netio.Params{Buffered: netio.BufferedParams{Buffers: 2}}
	s := serve(t, server, tcp.Config{}, p)
	b := openBackend(t, client, tcp.Config{})
	once := func() {
		if err := b.OpenEndpoint(s.l.Addr(), p); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		ep := next(t, "OnConnectionEstablished", client.Established)
		next(t, "OnConnectionEstablished", server.Established)
		if err := ep.Close(); err != nil {
			t.Fatalf("Close: got error %v, want none", err)
		}
		next(t, "OnConnectionClosed", client.Closed)
		next(t, "OnConnectionClosed", server.Closed)
	}
	once()
	files, goroutines := backendtest.OpenFiles(t), runtime.NumGoroutine()
	for range 500 {
		once()
	}
	if after := backendtest.OpenFiles(t); after > files {
		t.Errorf("descriptors: got %d, want %d as before", after, files)
	}
	if after := runtime.NumGoroutine(); after > goroutines {
		t.Errorf("goroutines: got %d, want %d as before", after, goroutines)
	}
}
