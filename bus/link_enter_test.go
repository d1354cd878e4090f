// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// underWay subscribes to all tags of a publisher, and returns when the first of them
// are in its table and the last are not. The loop of the publisher is held until
// release is called.
func underWay(t *testing.T, p *publisher, s *subscriber, f func(bus.Message), cfg bus.SubscriptionConfig) (sub *bus.Subscription, release func()) {
	t.Helper()
	held, goOn := make(chan int), make(chan struct{})
	before := bus.RoutedTo(p.Publisher, 1)
	var look func()
	look = func() {
		n := bus.RoutedTo(p.Publisher, 1)
		if n == before {
			p.loop.Post(look) // behind the next slice
			return
		}
		held <- n
		<-goOn
	}
	sub, err := s.SubscribeWith(p.Tags(), f, cfg)
	must(t, err)
	p.loop.Post(look)
	all, _ := p.Tags().Count()
	if n := <-held; uint64(n) >= all {
		t.Fatalf("%d of %d tags entered in one slice", n, all)
	}
	release = sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	return sub, release
}

// TestPublisher_RemoveTags_whileASubscriptionIsUnderWay has its last messages before its
// final position.
func TestPublisher_RemoveTags_whileASubscriptionIsUnderWay(t *testing.T) {
	const known, messages = 30_000, 3
	t.Cleanup(bus.SetSliceSteps(256))
	b := newBed(t)
	p := b.used(known, bus.PublisherConfig{})
	s := b.subscriber(bus.SubscriberConfig{})
	var got atomic.Int64
	sub, release := underWay(t, p, s, func(m bus.Message) {
		if m.Tag == 0 {
			got.Add(1)
		}
	}, bus.SubscriptionConfig{})
	for range messages {
		must(t, p.Publish(0, nil))
	}
	must(t, p.RemoveTags(tags.Of(0)))
	release()
	must(t, sub.Wait(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, p.Drain(ctx))
	if st := s.Stats(); got.Load() != messages || st.Lost != 0 {
		t.Errorf("got %d messages and %d lost, want %d and none", got.Load(), st.Lost, messages)
	}
}

// The policy drop-oldest dropped the newest message on a lane whose subscription is
// under way: it did not look into what is held back.
func TestPublisher_dropsTheOldestOfWhatASubscriptionHoldsBack(t *testing.T) {
	const known, messages = 30_000, 100
	t.Cleanup(bus.SetSliceSteps(256))
	b := newBed(t)
	p := b.used(known, bus.PublisherConfig{Sending: bus.Sending{PageBytes: 512, MaxMessageBytes: 400, QueueBytes: 2048}})
	s := b.subscriber(bus.SubscriberConfig{})
	cfg := bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropOldest}}
	var last atomic.Int64
	first, err := s.SubscribeWith(tags.Of(0), func(m bus.Message) { last.Store(int64(m.Data[0])) }, cfg)
	must(t, err)
	must(t, first.Wait(t.Context()))
	sub, release := underWay(t, p, s, func(bus.Message) {}, cfg)
	for i := range messages {
		data := make([]byte, 400)
		data[0] = byte(i)
		must(t, p.Publish(0, data))
	}
	release()
	must(t, sub.Wait(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, p.Drain(ctx))
	if st := s.Stats(); last.Load() != messages-1 || st.Lost == 0 {
		t.Errorf("got message %d last and %d lost, want %d and some", last.Load(), st.Lost, messages-1)
	}
}
