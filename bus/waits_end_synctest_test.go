// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// Users whose Drain was cut short by Close waited in it for ever.
func TestPublisher_Drain_endsWhenThePublisherIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		b.stall(s.host)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- p.Drain(ctx) }()
		time.Sleep(time.Second)
		must(t, p.Close())
		if err := <-done; errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, bus.ErrClosed) && !errors.Is(err, bus.ErrUndelivered) {
			t.Errorf("drain during close: got %v, want ErrClosed or ErrUndelivered", err)
		}
	})
}

// Users were told that all was delivered when the connection had broken first.
func TestPublisher_Drain_tellsWhatWasNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		subscribe(t, s, tags.Of(1), c.handle)
		b.stall(s.host)
		must(t, p.Publish(1, make([]byte, 1000)))
		done := make(chan error, 1)
		go func() { done <- p.Drain(t.Context()) }()
		time.Sleep(time.Second)
		b.net.Reset(p.Addr(), anyPort(s.host))
		if err := <-done; !errors.Is(err, bus.ErrUndelivered) {
			t.Errorf("drain: got %v after %d of 1 messages, want ErrUndelivered", err, c.count())
		}
	})
}

// A Drain whose context had ended before it said that 0 subscribers had not received everything.
func TestPublisher_Drain_ofNoSubscriberNeedsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newBed(t).publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Drain(ctx); err != nil && strings.Contains(err.Error(), "subscribers") {
			t.Errorf("got %v, want no error about subscribers", err)
		}
	})
}

// Users who unsubscribed waited for an acknowledgement that could not come any
// more.
func TestSubscription_Unsubscribe_endsWithoutAnAcknowledgement(t *testing.T) {
	tests := []struct {
		name string
		end  func(*bed, *publisher, *subscriber)
	}{
		{"the subscriber is closed", func(_ *bed, _ *publisher, s *subscriber) { s.Close() }},
		{"the connection is lost", func(b *bed, p *publisher, s *subscriber) {
			b.net.Reset(p.Addr(), anyPort(s.host))
			b.net.Resume(anybody, anyPort(s.host))
		}},
		{"the publisher is gone", func(b *bed, p *publisher, _ *subscriber) { b.net.Kill(p.host) }},
	}
	for _, test := range tests {
		for _, acked := range []bool{false, true} {
			name := test.name + " before the first acknowledgement"
			if acked {
				name = test.name + " before the second acknowledgement"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t)
					p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
					s := b.subscriber(bus.SubscriberConfig{})
					subscribe(t, s, tags.Of(2), func(bus.Message) {})
					if !acked {
						b.stall(s.host)
					}
					sub, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
					must(t, err)
					synctest.Wait()
					b.stall(s.host)
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					done := make(chan error, 2)
					go func() { done <- sub.Unsubscribe(ctx) }()
					go func() { done <- sub.Wait(ctx) }()
					time.Sleep(time.Second)
					test.end(b, p, s)
					for range 2 {
						if err := <-done; errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("after an hour: got %v", err)
						}
					}
				})
			})
		}
	}
}

// Users who ended the loop first and closed the subscriber then left their
// readers waiting for ever.
func TestSubscriber_Close_afterTheLoopHasEndedEndsEveryWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := b.subscriber(bus.SubscriberConfig{})
		sub, err := s.Subscribe(tags.Of(1), nil)
		must(t, err)
		synctest.Wait()
		s.loop.Close()
		must(t, s.Close())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := sub.Wait(ctx); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("wait: got %v, want ErrClosed", err)
		}
		ends := 0
		for m, err := range sub.Messages(ctx) {
			if ends++; !errors.Is(err, bus.ErrClosed) {
				t.Errorf("messages: got %v, %v, want ErrClosed", m, err)
			}
		}
		if ends != 1 {
			t.Errorf("messages: ended %d times with an error, want once", ends)
		}
	})
}

// Users waited for ever when the last publisher that could not be reached left
// the directory.
func TestSubscription_Wait_endsWhenAnUnreachablePublisherIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		entries, err := b.dir.List()
		must(t, err)
		dead := entries[0].Clone()
		dead.Instance = "dead"
		dead.Addresses = []netip.AddrPort{netip.MustParseAddrPort("10.9.9.9:99")}
		b.net.Partition(anybody, dead.Addresses[0])
		r, err := b.dir.Announce(dead)
		must(t, err)
		s := b.subscriber(bus.SubscriberConfig{})
		sub, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
		must(t, err)
		time.Sleep(time.Minute)
		must(t, r.Withdraw())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := sub.Wait(ctx); err != nil {
			t.Errorf("wait: got %v; events %v", err, s.events)
		}
	})
}

// Users who unsubscribed just before they heard of a refusal lost the
// connection, with all other subscriptions on it.
func TestSubscription_Unsubscribe_aRefusalMayCrossIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.impostor(&refuser{t: t, refuse: 2}, "refuser", tags.Of(1, 2))
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		b.net.Stall(anybody, anyPort(s.host))
		sub, err := s.Subscribe(tags.Of(2), func(bus.Message) {})
		must(t, err)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- sub.Unsubscribe(ctx) }()
		time.Sleep(time.Second)
		b.net.Resume(anybody, anyPort(s.host))
		if err := <-done; err != nil {
			t.Errorf("unsubscribe: got %v", err)
		}
		time.Sleep(time.Minute)
		if got := s.of(bus.Lost); len(got) > 0 {
			t.Errorf("the connection broke: %v", s.events)
		}
	})
}

// refuser is a publisher made by hand that acknowledges every subscription but
// one.
type refuser struct {
	netio.NopHandler
	t      *testing.T
	refuse uint64
}

// OnData answers as a publisher does.
func (r *refuser) OnData(ep netio.Endpoint, data []byte) {
	m, err := subscription.Decode(data)
	if err != nil { // the hello is no control message
		must(r.t, ep.SendCopy(0, nil, hello(r.t, subscription.Hello{Instance: "refuser", MaxMessageBytes: 1 << 14})))
		return
	}
	var answer subscription.Message
	switch m := m.(type) {
	case *subscription.Subscribe:
		answer = &subscription.Subscribed{ID: m.ID}
		if m.ID == r.refuse {
			answer = &subscription.Refused{ID: m.ID, Reason: "not for you"}
		}
	case *subscription.Unsubscribe:
		answer = &subscription.Unsubscribed{ID: m.ID}
	default: // a beat
		return
	}
	must(r.t, ep.SendCopy(0, nil, control(r.t, answer)))
}

// A subscriber that had enough and left made the publisher report lost messages, and its
// Drain fail.
func TestSubscription_thatHasEndedIsOwedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 256, MaxMessageBytes: 200, QueueBytes: 4096}})
		s := b.subscriber(bus.SubscriberConfig{})
		sub := subscribe(t, s, tags.Of(1), func(bus.Message) {})
		b.net.SetWindow(netip.AddrPort{}, netip.AddrPortFrom(s.host, 0), 512)
		b.net.Stall(netip.AddrPort{}, netip.AddrPortFrom(s.host, 0))
		for range 10 {
			must(t, p.Publish(1, make([]byte, 200)))
		}
		must(t, sub.Close())
		time.Sleep(time.Second)
		b.net.Reset(p.Addr(), netip.AddrPortFrom(s.host, 0))
		time.Sleep(time.Second)
		must(t, p.Drain(t.Context()))
		if st := p.Stats(); st.Unconfirmed != 0 || st.PagesFree != st.Pages {
			t.Errorf("got %d undelivered messages and %d of %d pages free, want none and all", st.Unconfirmed, st.PagesFree, st.Pages)
		}
		if err := lostOf(t, p.member); errors.As(err, new(*bus.UnconfirmedError)) {
			t.Errorf("got %v, want nothing unconfirmed", err)
		}
	})
}
