// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/tags"
)

// wantOwnStall fails the test unless a member has lost its peer, or has not, by a fault of its own, in its events, its
// state and its statistics.
func wantOwnStall(t *testing.T, who string, m *member, st state.State, counted uint64, own bool) {
	t.Helper()
	e, at := m.first(bus.Lost)
	var stall *bus.OwnStallError
	if at.IsZero() || errors.As(e.Err, &stall) != own {
		t.Errorf("%s: got %v, want a lost connection of which it is to blame itself: %v", who, e.Err, own)
	}
	if own && stall != nil && (stall.For < time.Second || stall.Unwrap() == nil) {
		t.Errorf("%s: got %+v, want how long it took nothing, and the end", who, stall)
	}
	var broken, owns uint64
	reason := ""
	for _, p := range append(st.Peers, st.Gone...) {
		broken, owns, reason = broken+p.Broken, owns+p.OwnStalls, p.BrokenReason
	}
	if broken == 0 || (owns > 0) != own || strings.Contains(reason, "this program took nothing") != own {
		t.Errorf("%s: got %d broken connections, %d of them by its own fault, the last because %q", who, broken, owns, reason)
	}
	if counted < owns || (counted > 0) != own { // a connection that ends before its hello is no one's in the state
		t.Errorf("%s: got %d in its statistics, want the %d of its state, or more", who, counted, owns)
	}
}

// TestReceiver_itsOwnSlownessIsNoFaultOfTheSender: a receiver, and a subscriber, whose handler took so long that the other
// side gave up called that side one that is cut off.
func TestReceiver_itsOwnSlownessIsNoFaultOfTheSender(t *testing.T) {
	slow := func(bus.Message) { time.Sleep(20 * time.Second) }
	sending := bus.Sending{MaxStall: 2 * time.Second}
	t.Run("receiver", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, slow)
			s := b.sender(bus.SenderConfig{Sending: sending})
			for range 8 {
				_ = s.SendContext(t.Context(), 1, make([]byte, 900))
				s.Flush()
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(15 * time.Minute)
			wantOwnStall(t, "receiver", r.member, stateOf(t, r, everything), r.Stats().OwnStalls, true)
			wantOwnStall(t, "sender", s.member, stateOf(t, s, everything), s.Stats().OwnStalls, false)
		})
	})
	t.Run("subscriber", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			p := b.publisher(small(bus.PublisherConfig{Sending: sending}))
			s := b.subscriber(bus.SubscriberConfig{})
			subscribe(t, s, tags.Of(1), slow)
			for range 8 {
				_ = p.Publish(1, make([]byte, 900))
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(15 * time.Minute)
			wantOwnStall(t, "subscriber", s.member, stateOf(t, s, everything), s.Stats().OwnStalls, true)
			wantOwnStall(t, "publisher", p.member, stateOf(t, p, everything), p.Stats().OwnStalls, false)
		})
	})
}

// TestPublisher_thatStoodStillIsToBlameItself: its peers end connections that they hear nothing of.
func TestPublisher_thatStoodStillIsToBlameItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, s, _ := b.pair(bus.PublisherConfig{}, bus.SubscriberConfig{}, func(bus.Message) {})
		p.loop.Freeze()
		time.Sleep(time.Minute)
		p.loop.Thaw()
		time.Sleep(time.Minute)
		wantOwnStall(t, "publisher", p.member, stateOf(t, p, everything), p.Stats().OwnStalls, true)
		wantOwnStall(t, "subscriber", s.member, stateOf(t, s, everything), s.Stats().OwnStalls, false)
	})
}

// TestReceiver_aSenderThatDiesIsToBlame, and one whose connection is reset.
func TestReceiver_aSenderThatDiesIsToBlame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) {})
		s := b.sender(bus.SenderConfig{})
		must(t, s.SendContext(t.Context(), 1, []byte("a")))
		b.net.Reset(anyPort(s.host), anyPort(r.host))
		time.Sleep(10 * time.Second)
		wantOwnStall(t, "receiver", r.member, stateOf(t, r, everything), r.Stats().OwnStalls, false)
	})
}
