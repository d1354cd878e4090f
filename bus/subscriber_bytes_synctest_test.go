// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// TestPublisher_aSubscriberHoldsNoMoreThanItMay: each policy has room of its own, so a publisher
// limits their number. A subscriber that asks for less room may have more policies.
func TestPublisher_aSubscriberHoldsNoMoreThanItMay(t *testing.T) {
	tests := []struct {
		name    string
		backlog int // of each subscription
		want    int // subscriptions that are accepted, of 4
	}{
		{"with all the room that there is for each", 0, 2},
		{"with half of it", 4 << 10, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				b.publisher(bus.PublisherConfig{
					Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1 << 10, MaxMessageBytes: 1000, QueueBytes: 8 << 10}, SubscriberBytes: 16 << 10,
				})
				s := b.subscriber(bus.SubscriberConfig{})
				accepted := 0
				for i := range 4 {
					policy := bus.Policy{Kind: bus.Disconnect, After: time.Duration(1+i) * time.Hour}
					sub, err := s.SubscribeWith(tags.Of(1), ignore, bus.SubscriptionConfig{Policy: policy, BacklogBytes: tt.backlog})
					must(t, err)
					switch err := sub.Wait(t.Context()); {
					case err == nil:
						accepted++
					case !strings.Contains(err.Error(), bus.ErrSubscriberBytes.Error()+": 24576 bytes, limit 16384: lower BacklogBytes"):
						t.Errorf("subscription %d: got error %v, want one that names the limit", i, err)
					}
				}
				if accepted != tt.want {
					t.Errorf("got %d subscriptions accepted, want %d", accepted, tt.want)
				}
				again, err := s.SubscribeWith(tags.Of(1), ignore, bus.SubscriptionConfig{
					Policy: bus.Policy{Kind: bus.Disconnect, After: time.Hour}, BacklogBytes: tt.backlog,
				})
				must(t, err)
				if err := again.Wait(t.Context()); err != nil {
					t.Errorf("another subscription with the first policy: got error %v, want none: they share their room", err)
				}
			})
		})
	}
}
