// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/rdma"
)

// resources is what the process holds.
type resources struct{ files, kilobytes, threads int }

func measure(tb testing.TB) resources {
	tb.Helper()
	debug.FreeOSMemory()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Fatal(err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		tb.Fatal(err)
	}
	return resources{backendtest.OpenFiles(tb), resident * os.Getpagesize() / 1024, len(tasks)}
}

// wantNothingLeft checks that rounds of something leave nothing behind. Caches warm up
// by themselves, some late: what is left behind grows with each batch of rounds.
func wantNothingLeft(t *testing.T, rounds int, round func()) {
	t.Helper()
	for range netiotest.Few(100, 10) {
		round()
	}
	before := measure(t)
	for range 3 {
		for range rounds {
			round()
		}
		after := measure(t)
		most := before.kilobytes + max(2*rounds, 4<<10) // what few take says little
		t.Logf("%d rounds: from %+v to %+v", rounds, before, after)
		if after.files <= before.files && after.threads <= before.threads+2 && (testkit.Race || after.kilobytes <= most) {
			return
		}
		before = after
	}
	t.Errorf("three times %d rounds: each has left something behind", rounds)
}

func TestBackend_aThousandRoundsLeaveNothingBehind(t *testing.T) {
	rounds := netiotest.Few(1000, 50)
	p := netio.Params{
		Receive:  netio.ReceiveParams{MaxMessageBytes: 64 << 10, Buffers: 4},
		Buffered: netio.BufferedParams{Buffers: 4},
		ZeroCopy: netio.ZeroCopyParams{Region: newRegion(t, 64<<10)},
	}
	s := serve(t, newWatcher(), rdma.Config{}, p)
	w := newWatcher()
	client := openBackend(t, w, rdma.Config{Provider: provider()})
	round := func() {
		if err := client.OpenEndpoint(s.l.Addr(), p); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		ep := next(t, "OnConnectionEstablished", w.Established)
		next(t, "OnConnectionEstablished", s.Established)
		if err := ep.Send(7, []byte("head"), p.ZeroCopy.Region[:40_000]); err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
		if err := sendText(ep, "hello"); err != nil {
			t.Fatalf("SendBuffer: got error %v, want none", err)
		}
		next(t, "a message", s.Data)
		next(t, "a message", s.Data)
		if err := ep.Close(); err != nil {
			t.Fatalf("Close: got error %v, want none", err)
		}
		next(t, "OnConnectionClosed", w.Closed)
		next(t, "OnConnectionClosed", s.Closed)
	}
	wantNothingLeft(t, rounds, round)
	for _, b := range []netio.Backend{s.b, client} {
		onLoop(t, b.Loop(), func() {
			if got := rdma.Regions(b); got != 0 {
				t.Errorf("regions that are still registered: got %d, want 0", got)
			}
		})
	}
}

func TestBackend_sharedReceiveMemoryDoesNotGrow(t *testing.T) {
	const buffers, bufferBytes = 16, 64 << 10
	connections := netiotest.Few(200, 20)
	shared := netio.Config{SharedReceive: netio.SharedBuffers{Buffers: buffers, BufferBytes: bufferBytes}}
	p := netio.Params{Buffered: netio.BufferedParams{Buffers: 1, BufferBytes: 100}}
	s := serve(t, newWatcher(), rdma.Config{Config: shared}, p)
	check := func(n int) {
		t.Helper()
		onLoop(t, s.b.Loop(), func() {
			if got, want := rdma.ReceiveBytes(s.b), buffers*bufferBytes; got != want {
				t.Errorf("memory to receive with %d connections: got %d bytes, want %d", n, got, want)
			}
		})
	}
	w := newWatcher()
	client := openBackend(t, w, rdma.Config{Provider: provider()})
	var eps []netio.Endpoint
	for i := range connections {
		l, err := s.b.OpenListenEndpoint(loopback(), p) // one endpoint to an address
		if err != nil {
			t.Fatal(err)
		}
		if err := client.OpenEndpoint(l.Addr(), netio.Params{Buffered: p.Buffered, Receive: netio.ReceiveParams{MaxMessageBytes: 100, Buffers: 1}}); err != nil {
			t.Fatal(err)
		}
		eps = append(eps, next(t, "OnConnectionEstablished", w.Established))
		next(t, "OnConnectionEstablished", s.Established)
		if i == 0 {
			check(1)
		}
	}
	check(connections)
	for i, ep := range eps {
		if err := sendText(ep, fmt.Sprint("message ", i)); err != nil {
			t.Fatalf("send: got error %v, want none", err)
		}
	}
	for range eps {
		next(t, "a message", s.Data)
	}
	check(connections)
}

// TestBackend_Close_leavesNothing opens all that there is, and looks for descriptors and
// goroutines when it is closed.
func TestBackend_Close_leavesNothing(t *testing.T) {
	t.Run("the first use of a device", load) // its library keeps it open until the process ends
	netiotest.CheckLeaks(t)
	shared := netio.SharedBuffers{Buffers: 4, BufferBytes: 4096}
	for _, cfg := range []netio.Config{{}, {SharedReceive: shared, SharedSend: shared}} {
		t.Run("", func(t *testing.T) {
			s := serve(t, newWatcher(), rdma.Config{Config: cfg}, netio.Params{})
			_, accepted := s.dial(t, newWatcher(), rdma.Config{Config: cfg}, netio.Params{})
			if accepted.Remote().Port() == 0 {
				t.Errorf("Remote: got %v, want a port", accepted.Remote())
			}
		})
	}
}
