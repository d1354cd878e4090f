// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/subscription"
	"tagbus/tags"
)

func TestSender_twoReceiversOfOneTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		a, c := make(inbox), make(inbox)
		first := b.receiver(bus.ReceiverConfig{Common: bus.Common{Name: "first"}, Tags: tags.Of(1, 2)}, a.handle)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1, 2, 3)})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1, 2)))
		second := b.receiver(bus.ReceiverConfig{Common: bus.Common{Name: "second"}, Tags: tags.Of(2, 3)}, c.handle)
		time.Sleep(time.Minute)
		must(t, s.Send(2, []byte("a")))
		if err := s.Send(3, nil); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("tag 3: got %v, want ErrNoReceiver", err)
		}
		alarms := s.of(bus.Duplicate)
		var duplicate *bus.DuplicateError
		if len(alarms) != 1 || !errors.As(alarms[0].Err, &duplicate) || !duplicate.Tags.Equal(tags.Of(2)) || !alarms[0].Tags.Equal(duplicate.Tags) ||
			alarms[0].Peer != duplicate.Second || alarms[0].Other != duplicate.First ||
			duplicate.First.Name != "first" || duplicate.Second.Name != "second" {
			t.Fatalf("got alarms %v, want one about tag 2, first and second", alarms)
		}
		must(t, first.Drain(t.Context()))
		must(t, first.Close())
		must(t, s.SendContext(t.Context(), 2, []byte("b")))
		must(t, s.SendContext(t.Context(), 3, []byte("c")))
		must(t, s.Drain(t.Context()))
		a.want(t, "", 2, "a")
		c.want(t, "", 2, "b")
		c.want(t, "", 3, "c")
		if len(second.of(bus.Gap)) > 0 {
			t.Errorf("got gaps %v", second.of(bus.Gap))
		}
	})
}

// TestSender_twoReceiversAtOnce: both are dialed before either has subscribed.
func TestSender_twoReceiversAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		counts := make([]int, 2)
		receivers := make([]*receiver, len(counts))
		for i := range counts {
			receivers[i] = b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) { counts[i]++ })
		}
		b.net.SetDelay(anybody, anybody, 10*time.Millisecond)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		for range 10 {
			must(t, s.SendContext(t.Context(), 1, nil))
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		if counts[0]+counts[1] != 10 || counts[0]*counts[1] != 0 {
			t.Errorf("the receivers got %v messages, want 10 at one of them", counts)
		}
		if got := len(s.of(bus.Duplicate)); got != 1 {
			t.Errorf("got %d alarms, want 1: %v", got, s.events)
		}
		for i, r := range receivers {
			refused := r.of(bus.Refused)
			if counts[i] > 0 && len(refused) > 0 || counts[i] == 0 && (len(refused) != 1 || !errors.Is(refused[0].Err, bus.ErrOwned)) {
				t.Errorf("receiver %d got %d messages and the refusals %v, want one with ErrOwned if it gets none", i, counts[i], refused)
			}
		}
	})
}

func TestReceiver_Drain_inOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		in := make(inbox)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, in.handle)
		s := b.sender(bus.SenderConfig{})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1)))
		b.net.SetDelay(anybody, anybody, 10*time.Millisecond)
		var want []string
		for i := range 100 { // on their way when the end begins
			want = append(want, fmt.Sprint(i))
			must(t, s.Send(1, []byte(want[i])))
		}
		s.Flush()
		must(t, r.Drain(t.Context()))
		in.want(t, "", 1, want...)
		if err := s.Send(1, nil); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("after it: got %v, want ErrNoReceiver", err)
		}
		if err := r.Drain(t.Context()); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("again: got %v, want ErrClosed", err)
		}
		time.Sleep(time.Second)
		if st := s.Stats(); st.Unconfirmed != 0 || len(st.Subscribers) != 0 {
			t.Errorf("sender: got %+v, want nothing undelivered and no receiver connected", st)
		}
		for _, e := range s.of(bus.Lost) {
			if e.Err != nil {
				t.Errorf("sender: got %v, want an end in order", e)
			}
		}
		if st := r.Stats(); st.Messages != 100 || st.Unwanted != 0 {
			t.Errorf("receiver: got %+v, want 100 messages", st)
		}
		must(t, r.Close())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.SendContext(ctx, 1, nil); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("got %v, want ErrNoReceiver", err)
		}
	})
}

// TestReceiver_Drain_inVain: messages on their way are lost, and no receiver is
// left to report them.
func TestReceiver_Drain_inVain(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault func(b *bed, s *sender, r *receiver)
	}{
		{"the network is cut", func(b *bed, s *sender, r *receiver) { b.net.Partition(anyPort(s.host), anyPort(r.host)) }},
		{"the connection breaks", func(b *bed, s *sender, r *receiver) {
			b.stall(r.host)
			time.AfterFunc(time.Second, func() { b.net.Reset(anyPort(s.host), anyPort(r.host)) })
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				in := make(inbox)
				r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, in.handle)
				s := b.sender(bus.SenderConfig{})
				must(t, s.SendContext(t.Context(), 1, nil))
				time.Sleep(time.Second)
				test.fault(b, s, r)
				must(t, s.Send(1, nil))
				if err := r.Drain(t.Context()); !errors.Is(err, bus.ErrUndelivered) {
					t.Errorf("got %v, want ErrUndelivered", err)
				}
				in.want(t, "", 1, "")
			})
		})
	}
}

func TestReceiver_Messages_withoutHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1), Receiving: bus.Receiving{QueueBytes: 1000}}, nil)
		s := b.sender(bus.SenderConfig{})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1)))
		for range 100 {
			must(t, s.Send(1, make([]byte, 100)))
		}
		drained := make(chan error, 1)
		s.Flush()
		synctest.Wait()
		go func() { drained <- r.Drain(t.Context()) }()
		n := 0
		for m, err := range r.Messages(t.Context()) {
			must(t, err)
			if n++; m.Counter != uint64(n) {
				t.Errorf("got counter %d, want %d", m.Counter, n)
			}
		}
		must(t, <-drained)
		if n != 100 {
			t.Errorf("got %d messages, want 100", n)
		}
	})
}

// A receiver whose group asks for a tag of another one is told which subscription that
// is.
func TestReceiver_theRefusalNamesTheSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.receiver(bus.ReceiverConfig{Common: bus.Common{Name: "owner"}, Tags: tags.Of(1)}, make(inbox).handle)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1, 2, 3)})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1)))
		ask := func(id uint64, tag tags.Tag, withNext bool) []byte {
			return control(t, &subscription.Subscribe{ID: id, Set: setOf(t, tag), WithNext: withNext})
		}
		x := &stranger{answer: [][]byte{
			hello(t, subscription.Hello{Instance: "x", Role: subscription.RoleReceiver, MaxMessageBytes: 64 << 20}),
			ask(1, 2, true), ask(2, 1, true), ask(3, 3, false),
		}}
		b.receiverByHand(x, tags.Of(2, 3))
		if err := s.Send(2, nil); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("Send: got error %v, want ErrNoReceiver", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		refused := 0
		for _, data := range x.got {
			m, err := subscription.Decode(data)
			if r, ok := m.(*subscription.Refused); err == nil && ok {
				if refused++; r.ID != 2 {
					t.Errorf("subscription %d is refused (%s), want 2", r.ID, r.Reason)
				}
			}
		}
		if refused == 0 { // the sender dials again
			t.Error("got no refusal")
		}
	})
}
