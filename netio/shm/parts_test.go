// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"bytes"
	"errors"
	"testing"

	"tagbus/internal/invariants"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/shm"
)

// taker is a handler that takes messages apart, if do says so.
type taker struct {
	*backendtest.Watcher
	do func(ep netio.Endpoint, head, data []byte) (taken bool)
}

var _ netio.PartsHandler = (*taker)(nil)

func (h *taker) OnDataParts(ep netio.Endpoint, head, data []byte) bool { return h.do(ep, head, data) }

// newTaker returns one that is served with a region, a sender to it, and the region.
func newTaker(t *testing.T, do func(ep netio.Endpoint, head, data []byte) bool) (s *served, ep netio.Endpoint, region []byte) {
	t.Helper()
	if invariants.Enabled {
		t.Skip("a build with invariants copies all, to overwrite it")
	}
	region = sharedRegion(t, 64<<10)
	h := &taker{newWatcher(), do}
	s = serveTo(t, h, h.Watcher, shm.Config{}, netio.Params{})
	_, ep, _ = s.dial(t, newWatcher(), shm.Config{}, lending(region))
	return s, ep, region
}

// sendHeaded sends a header and the region as one message.
func sendHeaded(t *testing.T, ep netio.Endpoint, region []byte) {
	t.Helper()
	if err := ep.Send(1, []byte("header"), region); err != nil {
		t.Fatalf("Send: got error %v, want none", err)
	}
}

// TestHeaderIsApart: the handler sees the very memory of the sender behind a header.
func TestHeaderIsApart(t *testing.T) {
	type seen struct {
		head          string
		bytes         int
		before, after byte
		stats         netio.Stats
	}
	saw := make(chan seen, 1)
	var region []byte
	var s *served
	s, ep, region := newTaker(t, func(_ netio.Endpoint, head, data []byte) bool {
		x := seen{head: string(head), bytes: len(data), before: data[0], stats: s.b.Stats()}
		region[0]++
		x.after = data[0]
		_ = append(head, 'x') // into no one's memory
		saw <- x
		return true
	})
	sendHeaded(t, ep, region)
	x := next(t, "OnDataParts", saw)
	if x.head != "header" || x.bytes != len(region) || x.before != 0 || x.after != 1 {
		t.Errorf("parts: got %q and %d bytes, the first of them %d, then %d; want \"header\" and %d, 0 and 1", x.head, x.bytes, x.before, x.after, len(region))
	}
	if x.stats.MessagesReceived != 1 || x.stats.BytesReceived != uint64(6+len(region)) {
		t.Errorf("Stats: got %+v, want one message of %d bytes", x.stats, 6+len(region))
	}
	if n := len(s.Data); n != 0 {
		t.Errorf("OnData: got %d calls, want none", n)
	}
}

// TestPartsThatAreNotTaken come in one, and count once.
func TestPartsThatAreNotTaken(t *testing.T) {
	offered := 0
	s, ep, region := newTaker(t, func(netio.Endpoint, []byte, []byte) bool { offered++; return false })
	for range 3 {
		sendHeaded(t, ep, region)
		if got := next(t, "OnData", s.Data); !bytes.Equal(got, append([]byte("header"), region...)) {
			t.Errorf("message: got %d bytes, want the %d of both parts", len(got), 6+len(region))
		}
	}
	onLoop(t, s.b.Loop(), func() {})
	if got := s.b.Stats(); got.MessagesReceived != 3 || got.BytesReceived != 3*uint64(6+len(region)) || offered != 3 {
		t.Errorf("Stats: got %+v after %d offers, want 3 messages of %d bytes", got, offered, 6+len(region))
	}
}

// TestRetainOfParts is refused once, and from then on messages come in one, and are kept.
func TestRetainOfParts(t *testing.T) {
	errs := make(chan error, 1)
	s, ep, region := newTaker(t, func(ep netio.Endpoint, _, _ []byte) bool {
		_, err := ep.Retain()
		errs <- err
		return true
	})
	var kept netio.Retained
	var data []byte
	s.AtData = func(ep netio.Endpoint, d []byte) {
		data = d
		kept, _ = ep.Retain()
	}
	sendHeaded(t, ep, region)
	if err := next(t, "OnDataParts", errs); !errors.Is(err, netio.ErrNoResources) {
		t.Errorf("Retain of parts: got error %v, want %v", err, netio.ErrNoResources)
	}
	region[0] = 7
	sendHeaded(t, ep, region)
	next(t, "OnData", s.Data)
	onLoop(t, s.b.Loop(), func() {})
	if kept == nil {
		t.Fatal("Retain of the next message: got none, want it kept")
	}
	region[0] = 8
	if data[6] != 7 {
		t.Errorf("what is kept: got %d, want 7 as it was sent", data[6])
	}
	kept.Release()
}

// TestHeaderOfAHostilePeer: what is longer than a header may be comes in one.
func TestHeaderOfAHostilePeer(t *testing.T) {
	heads := make(chan int, 2)
	h := &taker{newWatcher(), func(_ netio.Endpoint, head, _ []byte) bool { heads <- len(head); return true }}
	s := serveTo(t, h, h.Watcher, shm.Config{}, netio.Params{})
	p, _ := s.greet(t)
	for _, inline := range []uint8{netio.MaxHeaderBytes + 1, netio.MaxHeaderBytes} {
		p.Put(shm.Piece{Size: uint32(inline) + 10, Inline: inline, N: 10, Place: 1})
	}
	if got := len(next(t, "OnData", s.Data)); got != netio.MaxHeaderBytes+11 {
		t.Errorf("OnData: got %d bytes, want %d", got, netio.MaxHeaderBytes+11)
	}
	if invariants.Enabled {
		return
	}
	if got := next(t, "OnDataParts", heads); got != netio.MaxHeaderBytes || len(heads) > 0 {
		t.Errorf("OnDataParts: got a header of %d bytes, want one of %d and no other", got, netio.MaxHeaderBytes)
	}
}

// TestPanicInOnDataParts ends the endpoint alone.
func TestPanicInOnDataParts(t *testing.T) {
	s, ep, region := newTaker(t, func(netio.Endpoint, []byte, []byte) bool { panic("on purpose") })
	sendHeaded(t, ep, region)
	if end := next(t, "OnConnectionClosed", s.Closed); !errors.Is(end.Cause, shm.ErrCallbackPanicked) {
		t.Errorf("cause: got %v, want %v", end.Cause, shm.ErrCallbackPanicked)
	}
	s.isWell(t)
}
