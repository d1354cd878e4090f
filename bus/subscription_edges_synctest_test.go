// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

// A tag that a handler removes from another subscription does not arrive there any more,
// not even the current message.
func TestSubscription_Remove_inAHandlerOfAnotherSubscription(t *testing.T) {
	for _, name := range []string{"with a handler", "with a handler of batches"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{FlushInterval: time.Hour}})
				s := b.subscriber(bus.SubscriberConfig{})
				var other *bus.Subscription
				removed := false
				handle := func(m bus.Message) {
					if m.Tag == 1 && removed {
						t.Errorf("got message %d of a tag that was removed", m.Counter)
					}
				}
				subscribe(t, s, tags.Of(1), func(m bus.Message) {
					if m.Counter == 2 {
						must(t, other.Remove(tags.Of(1)))
						removed = true
					}
				})
				var err error
				if name == "with a handler" {
					other, err = s.Subscribe(tags.Of(1, 2), handle)
				} else {
					other, err = s.SubscribeBatch(tags.Of(1, 2), func(batch []bus.Message) {
						for _, m := range batch {
							handle(m)
						}
					}, bus.SubscriptionConfig{})
				}
				must(t, err)
				must(t, other.Wait(t.Context()))
				for range 4 {
					must(t, p.Publish(1, nil))
					must(t, p.Publish(2, nil))
				}
				p.Flush()
				pass(time.Second)
				if !removed {
					t.Error("nothing was removed")
				}
			})
		})
	}
}

// A tag that was added, removed and added again, faster than the publisher can
// answer, begins with its last acknowledgement.
func TestSubscription_aTagThatComesAndGoesQuicklyHasNoHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub := subscribe(t, s, tags.Of(1), c.handle)
		b.net.SetDelay(anyPort(s.host), anybody, 10*time.Millisecond)
		b.net.SetDelay(anyPort(p.host), anybody, 10*time.Millisecond)
		publish := func() {
			must(t, p.Publish(2, nil))
			p.Flush()
		}
		must(t, sub.Add(tags.Of(2)))
		pass(5 * time.Millisecond)
		must(t, sub.Remove(tags.Of(2)))
		pass(16 * time.Millisecond) // acknowledged, and the removal is on its way
		must(t, sub.Add(tags.Of(2)))
		pass(4 * time.Millisecond)
		publish() // to the subscription that is being removed
		pass(7 * time.Millisecond)
		publish() // to no subscriber
		must(t, sub.Wait(t.Context()))
		publish()
		pass(time.Second)
		if len(c.bad) > 0 || c.last[2] != 3 || len(s.of(bus.Gap)) > 0 {
			t.Errorf("got %v, last %v, gaps %v; want message 3 of tag 2, and no hole", c.bad, c.last, s.of(bus.Gap))
		}
	})
}

// A connection that no subscription wants any more ends, also if the publisher has
// refused the request.
func TestSubscription_Remove_ofRefusedTagsEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{Policies: []bus.PolicyKind{bus.Latest}}})
		s := b.subscriber(bus.SubscriberConfig{})
		sub, err := s.Subscribe(tags.Of(1, 2), func(bus.Message) {})
		must(t, err)
		pass(time.Second)
		must(t, sub.Remove(tags.Of(1)))
		pass(time.Second)
		if got := s.Stats().Publishers; got != 0 {
			t.Errorf("got %d connections, want none to %v", got, p.Addr())
		}
	})
}

// Wait does not wait for a publisher that has left the directory while it was
// not connected.
func TestSubscription_Wait_doesNotWaitForAPublisherNotListedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		dir := &keeper{Directory: b.dir}
		p, m := b.openPublisher(dir, bus.PublisherConfig{Tags: tags.Of(1, 2)})
		s := b.subscriber(bus.SubscriberConfig{})
		sub := subscribe(t, s, tags.Of(1), func(bus.Message) {})
		b.net.Refuse(p.Addr())
		b.net.Reset(anyPort(m.host), anyPort(s.host))
		pass(time.Second)
		must(t, sub.Add(tags.Of(2)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := sub.Wait(ctx); err == nil {
			t.Error("wait while the publisher is in the directory: got no error, want the end of the context")
		}
		dir.Expire(p.Instance(), directory.ErrExpired)
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must(t, sub.Wait(ctx))
	})
}
