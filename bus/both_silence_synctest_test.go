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
	"tagbus/tags"
)

// The bound is that of TestPublisher_aSilentPeerIsFoundOutInTime, in either role.
func TestSender_silenceIsFoundOutInEitherRole(t *testing.T) {
	for _, test := range []struct {
		name             string
		fault            func(b *bed, s *sender, r *receiver)
		bySender, byRecv bool
	}{
		{"a cut network", func(b *bed, s *sender, r *receiver) { b.net.Partition(anyPort(s.host), anyPort(r.host)) }, true, true},
		{"the receiver is stopped", func(_ *bed, _ *sender, r *receiver) { r.loop.Freeze() }, true, false},
		{"the sender is stopped", func(_ *bed, s *sender, _ *receiver) { s.loop.Freeze() }, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				last := b.hearing()
				r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, ignore)
				s := b.sender(bus.SenderConfig{})
				must(t, s.SendContext(t.Context(), 1, nil))
				time.Sleep(time.Minute + 1234*time.Millisecond)
				if st := s.Stats(); st.Silent != 0 || len(st.Subscribers) != 1 || r.Stats().Silent != 0 {
					t.Errorf("idle for a minute: got %+v and %+v, want a connection", st, r.Stats())
				}
				test.fault(b, s, r)
				time.Sleep(5 * time.Millisecond)
				bySender, byReceiver := last(s.host), last(r.host)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				within := func(is bool) (w span) {
					if is {
						w = span{6 * time.Second, 6500 * time.Millisecond}
					}
					return w
				}
				checkSilence(t, "sender", s.member, bySender, within(test.bySender), s.Stats().Silent)
				checkSilence(t, "receiver", r.member, byReceiver, within(test.byRecv), r.Stats().Silent)
				s.loop.Thaw()
				r.loop.Thaw()
				b.net.Heal(anyPort(s.host), anyPort(r.host))
				time.Sleep(10 * time.Second) // both know that the connection has ended
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				must(t, s.SendAcked(ctx, 1, fmt.Append(nil, "again")))
			})
		})
	}
}

func TestSender_cutsOffAReceiverThatTakesNothing(t *testing.T) {
	tests := []struct {
		name     string
		policy   string
		maxStall time.Duration
	}{
		{"with disconnect, as it asks for", "disconnect:3s", 0},
		{"with block, by the sender's limit", "block", 3 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				policy, err := bus.ParsePolicy(test.policy)
				must(t, err)
				r := b.receiver(bus.ReceiverConfig{
					Tags: tags.Of(1), Receiving: bus.Receiving{QueueBytes: 1}, Subscription: bus.SubscriptionConfig{Policy: policy},
				}, nil)
				s := b.sender(bus.SenderConfig{Sending: bus.Sending{PageBytes: 1024, QueueBytes: 8192, MaxMessageBytes: 1000, MaxStall: test.maxStall}})
				b.net.SetWindow(anybody, anyPort(r.host), 1024)
				must(t, s.WaitReceivers(t.Context(), tags.Of(1)))
				for s.Send(1, make([]byte, 900)) == nil {
					synctest.Wait()
				}
				time.Sleep(4 * time.Second)
				if e, _ := s.first(bus.Lost); !errors.Is(e.Err, bus.ErrStalled) || s.Stats().Stalled == 0 {
					t.Errorf("got %v and %+v, want a receiver that is cut off", s.events, s.Stats())
				}
			})
		})
	}
}
