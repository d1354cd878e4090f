// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// sparseSet returns n tags of which no two are neighbours, and not 1 or 3.
func sparseSet(n int) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tags.Tag(10 + 2*i)
	}
	return tags.Of(list...)
}

// Changes that follow each other quickly do not cost a whole set each.
func TestSubscription_quickChangesAreCarriedOutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Everything()})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub := subscribe(t, s, tags.Of(1), c.handle)
		b.net.SetDelay(anyPort(s.host), anybody, 10*time.Millisecond)
		const changes = 1000
		for i := range changes {
			must(t, sub.Add(tags.Of(tags.Tag(10+i))))
			if i%3 == 0 {
				must(t, sub.Remove(tags.Of(tags.Tag(10+i))))
			}
		}
		must(t, sub.Wait(t.Context()))
		for i := range changes {
			must(t, p.PublishContext(t.Context(), tags.Tag(10+i), nil))
		}
		pass(time.Second)
		if got, want := c.count(), changes-(changes+2)/3; got != want {
			t.Errorf("got %d messages, want %d", got, want)
		}
		if got := len(s.of(bus.Subscribed)); got > 20 {
			t.Errorf("%d changes were acknowledged %d times, want a few", changes, got)
		}
	})
}

// The same Subscribe again is acknowledged and changes nothing: no position is
// told twice.
func TestPublisher_doubleSubscribeIsIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		must(t, p.Publish(1, nil))
		set, err := tags.Of(1).MarshalBinary()
		must(t, err)
		again := control(t, &subscription.Subscribe{ID: 1, Set: set})
		s := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 30}), again, again, again}}
		backend, _ := b.stranger(s)
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		pass(time.Second)
		must(t, p.Publish(1, nil))
		pass(time.Second)
		synctest.Wait()
		var got []string
		for _, m := range s.got[1:] {
			got = append(got, subscription.Kind(m[0]).String())
		}
		if want := "[positions subscribed subscribed subscribed page]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestSubscription_thoseOfTheSameSetShareTheNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
		s := b.subscriber(bus.SubscriberConfig{})
		one, two := newCollector(), newCollector()
		subscribe(t, s, tags.Of(1, 2), one.handle)
		sub, err := s.SubscribeWith(tags.Of(1, 2), two.handle, bus.SubscriptionConfig{Timeout: time.Second, Duplicates: bus.DuplicatesNewest})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		for range 10 {
			must(t, p.Publish(1, nil))
		}
		pass(time.Second)
		if one.count() != 10 || two.count() != 10 {
			t.Errorf("delivered: got %d and %d, want 10 to each", one.count(), two.count())
		}
		if got := p.Stats().Subscribers[0].Messages; got != 10 {
			t.Errorf("sent: got %d messages, want 10", got)
		}
	})
}
