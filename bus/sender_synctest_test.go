// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

func TestReceiver_twoSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		in := make(inbox)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2)}, in.handle)
		first := b.sender(bus.SenderConfig{Common: bus.Common{Name: "first"}, Tags: tags.Of(1, 2)})
		must(t, first.WaitReceivers(t.Context(), tags.Of(1, 2)))
		synctest.Wait() // the events of two connections have no order
		second := b.sender(bus.SenderConfig{Common: bus.Common{Name: "second"}})
		must(t, second.SendContext(t.Context(), 1, []byte("b0")))
		synctest.Wait()
		var a, bs []string
		for i := range 500 {
			must(t, first.Send(1, fmt.Append(nil, "a", i)))
			must(t, second.SendStatus(1, 3, fmt.Append(nil, "b", i+1)))
			a, bs = append(a, fmt.Sprint("a", i)), append(bs, fmt.Sprint("b", i+1))
		}
		must(t, first.Send(2, nil))
		must(t, first.Drain(t.Context()))
		must(t, second.Drain(t.Context()))
		synctest.Wait()
		in.want(t, "first", 1, a...)
		in.want(t, "first", 2, "")
		in.want(t, "second", 1, append([]string{"b0"}, bs...)...)
		want := []bus.EventKind{bus.Connected, bus.Subscribed, bus.Connected, bus.Subscribed, bus.Goodbye, bus.Goodbye}
		if d := cmp.Diff(want, r.kinds()); d != "" {
			t.Errorf("events of the receiver (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]bus.EventKind{bus.Connected, bus.Subscribed, bus.Lost}, first.kinds()); d != "" {
			t.Errorf("events of a sender (-want +got):\n%s\n%v", d, first.events)
		}
		if st := r.Stats(); st.Messages != 1002 || st.Lost != 0 || st.Unwanted != 0 || st.Publishers != 0 {
			t.Errorf("receiver: got %+v", st)
		}
		if st := first.Stats(); st.Messages != 501 || st.Unconfirmed != 0 || st.PagesFree != st.Pages {
			t.Errorf("sender: got %+v", st)
		}
	})
}

func TestSender_Send_withoutReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1, 2)})
		err := s.Send(1, []byte("x"))
		var refused *bus.PublishError
		if !errors.As(err, &refused) || refused.Tag != 1 || !errors.Is(err, bus.ErrNoReceiver) || !strings.Contains(err.Error(), "SendContext") {
			t.Errorf("got %v, want a *PublishError of tag 1 with ErrNoReceiver that says what to do", err)
		}
		if err := s.Send(3, nil); !errors.Is(err, bus.ErrUnknownTag) || !strings.Contains(err.Error(), "SenderConfig.Tags") {
			t.Errorf("another tag: got %v, want ErrUnknownTag", err)
		}
		if err := s.WaitReceivers(t.Context(), tags.Of(2, 3)); !errors.Is(err, bus.ErrUnknownTag) {
			t.Errorf("waiting for another tag: got %v, want ErrUnknownTag", err)
		}
		if err := s.Send(1, make([]byte, 2<<20)); !errors.Is(err, bus.ErrMessageTooLarge) || !strings.Contains(err.Error(), "SenderConfig.MaxMessageBytes") {
			t.Errorf("too large: got %v, want ErrMessageTooLarge", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := s.SendContext(ctx, 1, nil); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("with a deadline: got %v, want ErrNoReceiver and DeadlineExceeded", err)
		}
		if err := s.WaitReceivers(ctx, tags.Of(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting with a deadline: got %v, want DeadlineExceeded", err)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("waited %v, want 1s", got)
		}
		if got := s.Stats().NoReceiver; got != 2 {
			t.Errorf("got %d refusals for want of a receiver, want 2", got)
		}
		// None of those counts as a message: the receiver sees no gap.
		in := make(inbox)
		sent := make(chan error)
		go func() { sent <- s.SendContext(t.Context(), 1, []byte("y")) }()
		synctest.Wait()
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, in.handle)
		must(t, <-sent)
		must(t, s.Drain(t.Context()))
		in.want(t, "", 1, "y")
		if in[""].last[1] != 1 || r.Stats().Lost != 0 {
			t.Errorf("got counter %d and %d lost, want the first message and none lost", in[""].last[1], r.Stats().Lost)
		}
		if err := s.Send(1, nil); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("after Drain: got %v, want ErrClosed", err)
		}
	})
}

func TestSender_connectsOnlyToWhatItUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		used, unused := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2)}, func(bus.Message) {}), b.receiver(bus.ReceiverConfig{Tags: tags.Of(3)}, func(bus.Message) {})
		b.publisher(bus.PublisherConfig{Tags: tags.Of(1)}) // not a receiver
		s := b.sender(bus.SenderConfig{})
		s.loop.Freeze() // the loop could connect before Send returns
		if err := s.Send(2, nil); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("first use: got %v, want ErrNoReceiver", err)
		}
		s.loop.Thaw()
		time.Sleep(time.Second)
		must(t, s.Send(2, nil))
		must(t, s.Send(1, nil))
		synctest.Wait()
		if len(used.of(bus.Connected)) != 1 || len(unused.of(bus.Connected)) != 0 {
			t.Errorf("got connections %d and %d, want 1 and 0", len(used.of(bus.Connected)), len(unused.of(bus.Connected)))
		}
		if len(s.of(bus.Refused))+len(s.of(bus.Problem)) > 0 {
			t.Errorf("got events %v", s.events)
		}
	})
}

// TestReceiver_isNoPublisher: the roles of a directory do not see each other.
func TestReceiver_isNoPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) {})
		sub := b.subscriber(bus.SubscriberConfig{})
		s, err := sub.Subscribe(tags.Of(1), func(bus.Message) {})
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a subscriber found the receiver: %v", err)
		}
		if len(r.kinds())+len(sub.kinds()) > 0 {
			t.Errorf("got events %v and %v, want none", r.events, sub.events)
		}
	})
}

func TestSender_aSlowReceiver(t *testing.T) {
	tests := []struct {
		policy string
		lossy  bool
	}{
		{"block", false},
		{"drop-newest", true},
		{"drop-oldest", true},
		{"latest", true},
		{"sample:3", true},
	}
	for _, test := range tests {
		t.Run(test.policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { slowReceiver(t, test.policy, test.lossy) })
		})
	}
}

func slowReceiver(t *testing.T, policy string, lossy bool) {
	b := newBed(t)
	p, err := bus.ParsePolicy(policy)
	must(t, err)
	var got uint64
	r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1), Subscription: bus.SubscriptionConfig{Policy: p}}, func(bus.Message) { got++ })
	s := b.sender(bus.SenderConfig{Sending: bus.Sending{PageBytes: 1024, QueueBytes: 8192, PoolBytes: 64 << 10, MaxMessageBytes: 1000}})
	must(t, s.WaitReceivers(t.Context(), tags.Of(1)))
	b.stall(r.host)
	const most = 1000
	sent, refused := uint64(0), 0
	for range most {
		err := s.Send(1, make([]byte, 200))
		switch {
		case err == nil:
			sent++
		case errors.Is(err, bus.ErrNoResources):
			refused++
		default:
			t.Fatal(err)
		}
		if sent%10 == 0 {
			synctest.Wait()
		}
	}
	if (refused == 0) != lossy {
		t.Errorf("got %d refusals with policy %s", refused, policy)
	}
	b.net.Resume(anybody, anyPort(r.host))
	must(t, s.Drain(t.Context()))
	time.Sleep(2 * time.Second)
	synctest.Wait()
	st := r.Stats()
	if got != st.Messages || got+st.Lost+st.LeftOut != sent {
		t.Errorf("sent %d: got %d, reported lost %d and left out %d", sent, got, st.Lost, st.LeftOut)
	}
	if lossy != (st.Lost+st.LeftOut > 0) {
		t.Errorf("got %d lost and %d left out with policy %s", st.Lost, st.LeftOut, policy)
	}
	var gone uint64
	for _, e := range r.of(bus.Gap) {
		gone += e.Count
		if e.Peer == nil || e.Peer.Instance != s.Instance() {
			t.Errorf("got a gap of %v, want one of the sender", e.Peer)
		}
	}
	if gone != st.Lost+st.LeftOut {
		t.Errorf("got gap events for %d messages, want %d", gone, st.Lost+st.LeftOut)
	}
	if s := s.Stats(); s.Messages != sent || s.PagesFree != s.Pages {
		t.Errorf("sender: got %+v, want %d messages and all pages free", s, sent)
	}
}
