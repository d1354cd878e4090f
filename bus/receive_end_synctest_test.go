// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// Users' handlers were called after they had closed what they belonged to, and
// used what they had freed.
func TestHandler_isNotCalledAfterACloseInsideAHandler(t *testing.T) {
	tests := []struct {
		name     string
		messages int // in one page
		close    func(s *bus.Subscriber, own, other *bus.Subscription) error
	}{
		{"the subscriber", 5, func(s *bus.Subscriber, _, _ *bus.Subscription) error { return s.Close() }},
		{"its own subscription and the other", 5, func(_ *bus.Subscriber, own, other *bus.Subscription) error {
			return errors.Join(own.Close(), other.Close())
		}},
		{"the other subscription", 1, func(_ *bus.Subscriber, _, other *bus.Subscription) error { return other.Close() }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
				s := b.subscriber(bus.SubscriberConfig{})
				calls := 0
				var x, y *bus.Subscription
				closeThem := func(own, other *bus.Subscription) {
					if calls++; calls > 1 {
						return
					}
					if err := test.close(s.Subscriber, own, other); err != nil {
						t.Error(err)
					}
				}
				x = subscribe(t, s, tags.Of(1), func(bus.Message) { closeThem(x, y) })
				y = subscribe(t, s, tags.Of(1), func(bus.Message) { closeThem(y, x) })
				for range test.messages {
					must(t, p.Publish(1, nil))
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if calls != 1 {
					t.Errorf("handlers were called %d times, want once", calls)
				}
			})
		})
	}
}

// Users who cancelled an iteration stayed in it for as long as messages came.
func TestSubscription_Messages_endsWhenCancelledWhileMessagesCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		sub := subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), nil)
		for range 10 {
			must(t, p.Publish(1, nil))
		}
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		steps := 0
		for m, err := range sub.Messages(ctx) {
			if steps++; steps == 3 {
				cancel()
			}
			if steps > 3 && !errors.Is(err, context.Canceled) {
				t.Fatalf("step %d, cancelled in the third: got %v, %v, want Canceled", steps, m, err)
			}
		}
		if steps != 4 {
			t.Errorf("got %d steps, want 4", steps)
		}
		next := uint64(4)
		for m, err := range sub.Messages(t.Context()) { // nothing is lost by that
			must(t, err)
			if m.Counter != next {
				t.Fatalf("iterating again: got message %d, want %d", m.Counter, next)
			}
			if next++; next > 10 {
				break
			}
		}
	})
}

// Users' memory filled up although QueueBytes was set: a full queue held back
// only the publishers that were there when it had become full.
func TestSubscriber_aFullQueueHoldsBackEveryPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		const limit, publishers = 4, 3
		s := b.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: limit * 900}})
		b.net.SetWindow(anybody, anyPort(s.host), 1024)
		sub, err := s.Subscribe(tags.Of(1), nil)
		must(t, err)
		var all []*publisher
		for range publishers {
			p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, QueueBytes: 1024, MaxMessageBytes: 900}})
			must(t, p.WaitSubscribers(t.Context(), 1, tags.Of(1)))
			fill(t, p, 1)
			all = append(all, p)
		}
		for range 20 { // one comes back again and again
			b.net.Reset(all[0].Addr(), anyPort(s.host))
			time.Sleep(time.Minute)
			fill(t, all[0], 1)
		}
		if got := s.Stats().Messages; got > limit+publishers-1 {
			t.Errorf("a queue of %d messages took %d", limit, got)
		}

		// When there is room all of them go on.
		for _, p := range all {
			go func() {
				for p.PublishContext(t.Context(), 1, make([]byte, 900)) == nil {
					continue
				}
			}()
		}
		going := make(map[string]int)
		for m, err := range sub.Messages(t.Context()) {
			must(t, err)
			if going[m.Publisher.Instance]++; going[m.Publisher.Instance] > 10 {
				delete(going, m.Publisher.Instance)
				all = slices.DeleteFunc(all, func(p *publisher) bool { return p.Instance() == m.Publisher.Instance })
			}
			if len(all) == 0 {
				break
			}
		}
	})
}
