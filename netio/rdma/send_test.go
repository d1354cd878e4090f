// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"tagbus/internal/invariants"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/rdma"
)

func TestEndpoint_Send_onlyFromTheRegion(t *testing.T) {
	s := serve(t, newWatcher(), rdma.Config{}, netio.Params{})
	mem := newRegion(t, 8192)
	region := mem[1000:5000]
	ep, _ := s.dial(t, newWatcher(), rdma.Config{}, netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}})
	tests := []struct {
		name string
		data [][]byte
		want error
	}{
		{"all of it", [][]byte{region}, nil},
		{"its last byte", [][]byte{region[3999:]}, nil},
		{"the byte before it", [][]byte{mem[999:1000]}, netio.ErrOutsideRegion},
		{"the byte behind it", [][]byte{mem[5000:5001]}, netio.ErrOutsideRegion},
		{"beyond its end", [][]byte{mem[4999:5001]}, netio.ErrOutsideRegion},
		{"more than it", [][]byte{mem}, netio.ErrOutsideRegion},
		{"memory of Go", [][]byte{[]byte("x")}, netio.ErrOutsideRegion},
		{"a piece of three outside", [][]byte{region[:1], region[2:3], mem[:1]}, netio.ErrOutsideRegion},
		{"three pieces", [][]byte{region[:1], region[2:3], region[4:5]}, nil},
		{"four pieces", [][]byte{region[:1], region[2:3], region[4:5], region[6:7]}, nil},
		{"four pieces behind each other", [][]byte{region[:1], region[1:2], region[2:4], region[4:5]}, nil},
		{"a header alone", nil, nil},
	}
	for i, tt := range tests {
		err := ep.Send(netio.Key(i), []byte("header"), tt.data...)
		if !errors.Is(err, tt.want) || (err != nil) != (tt.want != nil) {
			t.Errorf("Send of %s: got error %v, want %v", tt.name, err, tt.want)
		}
		if err == nil {
			want := append([]byte("header"), bytes.Join(tt.data, nil)...)
			if got := next(t, "a message", s.Data); !bytes.Equal(got, want) {
				t.Errorf("message of %s: got %d bytes, want the %d that were sent", tt.name, len(got), len(want))
			}
		}
	}
}

func TestEndpoint_Capabilities_withoutRegionAndBuffers(t *testing.T) {
	s := serve(t, newWatcher(), rdma.Config{}, netio.Params{})
	ep, _ := s.dial(t, newWatcher(), rdma.Config{}, netio.Params{})
	if got, want := ep.Capabilities(), (netio.Capabilities{Receive: true, Retain: true}); got != want {
		t.Errorf("Capabilities: got %+v, want %+v", got, want)
	}
	for _, err := range []error{ep.Send(1, nil, []byte("x")), ep.SendCopy(1, nil, []byte("x"))} {
		if !errors.Is(err, netio.ErrNotSupported) {
			t.Errorf("send without region: got error %v, want %v", err, netio.ErrNotSupported)
		}
	}
}

// TestEndpoint_noMoreIsUnderWayThanTheWindow counts the messages that leave for a receiver
// that does not read: the network itself would take many more.
func TestEndpoint_noMoreIsUnderWayThanTheWindow(t *testing.T) {
	for _, window := range netiotest.Few([]int{1, 2, 3, 7, 16}, []int{1, 7}) {
		pausing := newWatcher()
		pausing.AtEstablished = func(ep netio.Endpoint) { ep.PauseReceive() }
		s := serve(t, pausing, rdma.Config{}, netio.Params{Receive: netio.ReceiveParams{Buffers: window}})
		w := newWatcher()
		region := newRegion(t, 4096)
		ep, other := s.dial(t, w, rdma.Config{}, netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region, Outstanding: 40}})
		for i := range 40 {
			if err := ep.Send(netio.Key(i), nil, region[:1000]); err != nil {
				t.Fatalf("Send: got error %v, want none", err)
			}
		}
		for i := range window {
			if got := next(t, "OnSendCompleted", w.Completed); got != netio.Key(i) {
				t.Fatalf("completion %d: got key %d, want %d", i, got, i)
			}
		}
		for range 20 { // turns of both loops
			onLoop(t, s.b.Loop(), func() {})
			onLoop(t, s.dialed.Loop(), func() {})
		}
		if got := len(w.Completed); got > 0 {
			t.Errorf("with %d receive buffers: got %d more completions, want none before the receiver reads", window, got)
		}
		onLoop(t, s.b.Loop(), other.ResumeReceive)
		for range 40 {
			next(t, "a message", s.Data)
		}
	}
}

// TestEndpoint_whatWasReceivedComesBeforeTheEnd: the other side closes while this one is paused
// and goes on sending.
func TestEndpoint_whatWasReceivedComesBeforeTheEnd(t *testing.T) {
	p := netio.Params{Buffered: netio.BufferedParams{Buffers: 4}}
	pausing := newWatcher()
	pausing.AtEstablished = func(ep netio.Endpoint) { ep.PauseReceive() }
	s := serve(t, pausing, rdma.Config{}, p)
	w := newWatcher()
	ep, other := s.dial(t, w, rdma.Config{}, p)
	for range 3 {
		if err := sendText(ep, "hello"); err != nil {
			t.Fatalf("send: got error %v, want none", err)
		}
		next(t, "OnSendCompleted", w.Completed)
	}
	if err := ep.Close(); err != nil {
		t.Fatalf("Close: got error %v, want none", err)
	}
	next(t, "OnConnectionClosed", w.Closed)
	for range 4 { // one after the other, until there are no more buffers
		if err := sendText(other, "is anybody there?"); err != nil {
			t.Fatalf("send to a peer that has closed: got error %v, want none", err)
		}
		onLoop(t, s.b.Loop(), func() {})
	}
	select {
	case end := <-s.Closed:
		t.Fatalf("OnConnectionClosed during the pause: got cause %v, want none before what was received", end.Cause)
	case <-time.After(500 * time.Millisecond):
	}
	onLoop(t, s.b.Loop(), other.ResumeReceive)
	for range 3 {
		next(t, "a message", s.Data)
	}
	if end := next(t, "OnConnectionClosed", s.Closed); !errors.Is(end.Cause, io.EOF) {
		t.Errorf("cause: got %v, want %v", end.Cause, io.EOF)
	}
}

// TestEndpoint_bothWaysOnOneConnection sends from a region and from buffers, in turn: the
// specification leaves it open whether a device can do so.
func TestEndpoint_bothWaysOnOneConnection(t *testing.T) {
	s := serve(t, newWatcher(), rdma.Config{}, netio.Params{})
	region := newRegion(t, 4096)
	w := newWatcher()
	ep, _ := s.dial(t, w, rdma.Config{}, netio.Params{
		Buffered: netio.BufferedParams{Buffers: 2, BufferBytes: 4096},
		ZeroCopy: netio.ZeroCopyParams{Region: region},
	})
	for i := range 50 {
		copy(region, bytes.Repeat([]byte{byte(i)}, 300))
		b, err := ep.Buffer()
		if err != nil {
			t.Fatalf("Buffer: got error %v, want none", err)
		}
		copy(b.Extend(300), bytes.Repeat([]byte{byte(i + 100)}, 300))
		key := b.Key()
		if err := errors.Join(ep.Send(1000, nil, region[:300]), ep.SendBuffer(b)); err != nil {
			t.Fatalf("send in both ways: got error %v, want none", err)
		}
		for _, want := range []byte{byte(i), byte(i + 100)} {
			if got := next(t, "a message", s.Data); len(got) != 300 || got[0] != want || got[299] != want {
				t.Fatalf("message: got %d bytes of %d, want 300 of %d", len(got), got[0], want)
			}
		}
		for _, want := range []netio.Key{1000, key} {
			if got := next(t, "OnSendCompleted", w.Completed); got != want {
				t.Fatalf("key: got %d, want %d", got, want)
			}
		}
	}
}

func TestEndpoint_sendingAllocatesNothing(t *testing.T) {
	if testkit.Race || invariants.Enabled {
		t.Skip("under -race, and in a build with invariants, memory is allocated")
	}
	received := make(chan struct{}, 1)
	region := newRegion(t, 4096)
	p := netio.Params{Buffered: netio.BufferedParams{Buffers: 2}, ZeroCopy: netio.ZeroCopyParams{Region: region}}
	b := openBackend(t, &quiet{received: received}, rdma.Config{Provider: provider()})
	l, err := b.OpenListenEndpoint(loopback(), p)
	if err != nil {
		t.Fatal(err)
	}
	w := newWatcher()
	sender := openBackend(t, w, rdma.Config{Provider: provider()})
	if err := sender.OpenEndpoint(l.Addr(), p); err != nil {
		t.Fatal(err)
	}
	ep := next(t, "OnConnectionEstablished", w.Established)
	header, data := []byte("header"), [][]byte{region[:2000]}
	if got := testing.AllocsPerRun(200, func() {
		if err := ep.Send(1, header, data...); err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
		<-received
		<-w.Completed
	}); got >= 1 {
		t.Errorf("allocations of a message: got %v, want none", got)
	}
}

// quiet is a handler that only says that something has come.
type quiet struct {
	netio.NopHandler
	received chan struct{}
}

func (q *quiet) OnData(netio.Endpoint, []byte) { q.received <- struct{}{} }
