package bus_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// underWay has a subscriber of known tags subscribe to all, and returns when some of
// them have moved: the lowest first. The others take many slices more.
func underWay(t *testing.T, p *publisher, s *subscriber, f func(bus.Message), cfg bus.SubscriptionConfig) *bus.Subscription {
	t.Helper()
	sub, err := s.SubscribeWith(p.Tags(), f, cfg)
	must(t, err)
	for bus.RoutedTo(p.Publisher, 1) == 0 {
	}
	return sub
}

// checkUnderWay ends a test that was too slow.
func checkUnderWay(t *testing.T, p *publisher, known int) {
	t.Helper()
	if bus.RoutedTo(p.Publisher, 1) == known {
		t.Skip("the subscription was complete too soon")
	}
}

// TestATagThatIsRemovedWhileASubscriptionIsUnderWay has its last messages before its
// final position.
func TestATagThatIsRemovedWhileASubscriptionIsUnderWay(t *testing.T) {
	const known, messages = 30_000, 3
	t.Cleanup(bus.SetSliceSteps(256))
	b := newBed(t)
	p := b.used(known, bus.PublisherConfig{})
	s := b.subscriber(bus.SubscriberConfig{})
	var got atomic.Int64
	sub := underWay(t, p, s, func(m bus.Message) {
		if m.Tag == 0 {
			got.Add(1)
		}
	}, bus.SubscriptionConfig{})
	for range messages {
		must(t, p.Publish(0, nil))
	}
	must(t, p.RemoveTags(tags.Of(0)))
	checkUnderWay(t, p, known)
	must(t, sub.Wait(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	must(t, p.Drain(ctx))
	if st := s.Stats(); got.Load() != messages || st.Lost != 0 {
		t.Errorf("got %d messages and %d lost, want %d and none", got.Load(), st.Lost, messages)
	}
}
