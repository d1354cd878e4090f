// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// lostOf returns the cause of the only Lost event of a member.
func lostOf(t *testing.T, m *member) error {
	t.Helper()
	lost := m.of(bus.Lost)
	if len(lost) != 1 {
		t.Fatalf("got Lost events %v, want one", lost)
	}
	return lost[0].Err
}

// A subscriber that was killed with nothing unread showed as one that had left
// in order.
func TestPublisher_tellsALeavingSubscriberFromAKilledOne(t *testing.T) {
	tests := []struct {
		name    string
		end     func(*bed, *publisher, *subscriber, *bus.Subscription)
		inOrder bool
	}{
		{"the subscriber is closed", func(_ *bed, _ *publisher, s *subscriber, _ *bus.Subscription) { must(t, s.Close()) }, true},
		{"the subscriber is closed inside a callback", func(_ *bed, _ *publisher, s *subscriber, _ *bus.Subscription) {
			s.loop.Post(func() { must(t, s.Close()) })
		}, true},
		{"its only subscription ends", func(_ *bed, _ *publisher, _ *subscriber, sub *bus.Subscription) {
			must(t, sub.Unsubscribe(context.Background()))
		}, true},
		{"the publisher ends", func(_ *bed, p *publisher, _ *subscriber, _ *bus.Subscription) { must(t, p.Drain(context.Background())) }, true},
		{"the subscriber is killed", func(b *bed, _ *publisher, s *subscriber, _ *bus.Subscription) { b.net.Kill(s.host) }, false},
		{"the subscriber is killed after it has closed its subscription", func(b *bed, _ *publisher, s *subscriber, sub *bus.Subscription) {
			b.net.Stall(anybody, anyPort(s.host)) // else it has left already
			must(t, sub.Close())
			time.Sleep(time.Second)
			b.net.Kill(s.host)
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
				s := b.subscriber(bus.SubscriberConfig{})
				sub := subscribe(t, s, tags.Of(1), func(bus.Message) {})
				must(t, p.Publish(1, nil))
				time.Sleep(10 * time.Second)
				test.end(b, p, s, sub)
				time.Sleep(time.Second)
				if err := lostOf(t, p.member); (err == nil) != test.inOrder {
					t.Errorf("got %v, want none %v; events %v", err, test.inOrder, p.events)
				}
			})
		})
	}
}

func TestSender_tellsALeavingReceiverFromAKilledOne(t *testing.T) {
	tests := []struct {
		name    string
		end     func(*bed, *sender, *receiver)
		inOrder bool
	}{
		{"the receiver drains", func(_ *bed, _ *sender, r *receiver) { must(t, r.Drain(context.Background())) }, true},
		{"the receiver is closed", func(_ *bed, _ *sender, r *receiver) { must(t, r.Close()) }, true},
		{"the sender drains", func(_ *bed, s *sender, _ *receiver) { must(t, s.Drain(context.Background())) }, true},
		{"the receiver is killed", func(b *bed, _ *sender, r *receiver) { b.net.Kill(r.host) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) {})
				s := b.sender(bus.SenderConfig{})
				must(t, s.SendContext(context.Background(), 1, nil))
				time.Sleep(10 * time.Second)
				test.end(b, s, r)
				time.Sleep(time.Second)
				if err := lostOf(t, s.member); (err == nil) != test.inOrder {
					t.Errorf("got %v, want none %v; events %v", err, test.inOrder, s.events)
				}
			})
		})
	}
}

// The kernel of a killed process ends its connections in order when nothing is
// unread: only a goodbye tells.
func TestPublisher_theEndOfAConnectionIsNoGoodbye(t *testing.T) {
	goodbye := control(t, &subscription.Goodbye{})
	tests := []struct {
		name string
		send [][]byte
		want string // in the event
	}{
		{"without a goodbye", nil, "lost twin (10.0.0.2:40001): bus: the peer ended the connection without goodbye"},
		{"with one", [][]byte{goodbye}, "left twin"},
		{"with a list", [][]byte{control(t, &subscription.Goodbye{List: listOf(1, 1)})}, "a goodbye of a subscriber has no list"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
				x := accountStranger(t)
				backend, _ := b.stranger(x)
				must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
				synctest.Wait()
				x.send(test.send...)
				synctest.Wait()
				must(t, backend.Close())
				time.Sleep(time.Second)
				wantEvent(t, p.member, test.want)
				if err := lostOf(t, p.member); test.send == nil && !errors.Is(err, bus.ErrNoGoodbye) {
					t.Errorf("got %v, want ErrNoGoodbye", err)
				}
			})
		})
	}
}

// A subscriber that says goodbye to a publisher that does not read must not wait
// for it.
func TestSubscriber_Close_doesNotWaitForItsGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		b.stall(p.host)
		for range 10 { // more than there is room for on the way
			_, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
			must(t, err)
		}
		synctest.Wait()
		start := time.Now()
		must(t, s.Close())
		if took := time.Since(start); took > time.Second {
			t.Errorf("Close took %v", took)
		}
		b.net.Resume(anybody, anyPort(p.host))
		time.Sleep(time.Second)
		if err := lostOf(t, p.member); err == nil || errors.Is(err, bus.ErrProtocol) {
			t.Errorf("got %v, want that it has not said goodbye", err)
		}
	})
}
