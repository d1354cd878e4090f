// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/invariants"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// TestEndpoint_Buffer_releasedUnsent takes all buffers, is refused one, and gives one
// back without sending it.
func TestEndpoint_Buffer_releasedUnsent(t *testing.T) {
	w := newWatcher()
	s := serve(t, w, tcp.Config{}, netio.Params{Buffered: netio.BufferedParams{Buffers: 1}})
	_, ep := s.dialRaw(t)
	b, err := ep.Buffer()
	if err != nil {
		t.Fatalf("Buffer: got error %v, want none", err)
	}
	if _, err := ep.Buffer(); !errors.Is(err, netio.ErrNoResources) {
		t.Fatalf("second Buffer: got error %v, want %v", err, netio.ErrNoResources)
	}
	onLoop(t, s.b.Loop(), func() {})
	if len(w.Ready) != 0 {
		t.Errorf("OnSendReady with no buffer free: got one, want none")
	}
	b.Release()
	next(t, "OnSendReady", w.Ready)
	if _, err := ep.Buffer(); err != nil {
		t.Errorf("Buffer after OnSendReady: got error %v, want none", err)
	}
}

func TestEndpoint_messagesAllocateNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	if invariants.Enabled {
		t.Skip("the checks of a build with invariants allocate")
	}
	for _, size := range []int{64, 10_000, 130_900} {
		for _, way := range ways {
			t.Run(fmt.Sprintf("%d bytes, %s", size, way), func(t *testing.T) {
				p, s, ep, loop := pumpAndSink(t, tcp.Config{}, way, size)
				begin := func() { p.fill(ep) }
				const messages = 200
				run := func() {
					s.left, p.left = messages, messages
					loop.Post(begin)
					<-s.done
					<-p.done
				}
				for range 5 {
					run() // everything gets its size
				}
				// A block or two may come and go with the timing.
				if got := testing.AllocsPerRun(20, run); got > messages/50 {
					t.Errorf("allocations for %d messages: got %v, want none for each", messages, got)
				}
			})
		}
	}
}

// TestEndpoint_Close_resetsWhenBlocked closes an endpoint whose peer does not
// read: the peer hears of it although its window is closed.
func TestEndpoint_Close_resetsWhenBlocked(t *testing.T) {
	w := newWatcher()
	s := serve(t, w, tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	data := make([]byte, 1<<20)
	for ep.Send(1, nil, data) == nil || len(w.Completed) == 0 { // until the queue is full
		onLoop(t, s.b.Loop(), func() {})
		if len(w.Completed) > 1000 {
			t.Fatal("the peer takes everything, want it to stop")
		}
	}
	if err := ep.Close(); err != nil {
		t.Fatalf("Close: got error %v, want none", err)
	}
	end := next(t, "OnConnectionClosed", w.Closed)
	if len(end.Keys) == 0 || end.Cause != nil {
		t.Errorf("OnConnectionClosed: got %d keys and cause %v, want some and nil", len(end.Keys), end.Cause)
	}
	_ = c.SetReadBuffer(1 << 20)
	for {
		if _, err := c.Read(data); err != nil {
			if !errors.Is(err, unix.ECONNRESET) {
				t.Errorf("peer: got error %v, want %v", err, unix.ECONNRESET)
			}
			return
		}
	}
}
