package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// What a handler removes from another subscription does not come there any
// more, not even the message of now.
func TestAHandlerMayRemoveATagFromAnotherSubscription(t *testing.T) {
	for _, name := range []string{"with a handler", "with a handler of batches"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), FlushInterval: time.Hour})
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
