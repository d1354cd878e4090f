// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

func TestSubscription_thatIsNotAcknowledgedInTime(t *testing.T) {
	tests := []struct {
		name string
		then func(*bed)
		want string
	}{
		{"without a publisher", func(*bed) {}, "start one that serves these tags"},
		{"with publishers of other tags", func(b *bed) { b.publisher(bus.PublisherConfig{Tags: tags.Of(9)}) }, "start one"},
		{"with one that cannot be reached", func(b *bed) { b.net.Refuse(b.publisher(bus.PublisherConfig{Tags: tags.Of(1)}).Addr()) }, "start one"},
		{"with one that refuses the policy", func(b *bed) {
			b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{Policies: []bus.PolicyKind{bus.Latest}}})
		}, "within 3s: refused: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				test.then(b)
				s := b.subscriber(bus.SubscriberConfig{})
				start := time.Now()
				sub, err := s.SubscribeWith(tags.Of(1, 2), nil, bus.SubscriptionConfig{Timeout: 3 * time.Second})
				must(t, err)
				later, err := s.SubscribeWith(tags.Of(1), nil, bus.SubscriptionConfig{Timeout: 4 * time.Second})
				must(t, err)
				for _, err = range sub.Messages(t.Context()) {
					break
				}
				var missing *bus.NoPublisherError
				if !errors.As(err, &missing) || !errors.Is(err, bus.ErrNoPublisher) || !missing.Tags.Equal(tags.Of(1, 2)) || missing.Waited != 3*time.Second {
					t.Errorf("messages: got %v, want *NoPublisherError of tags 1 and 2 after 3 s", err)
				}
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("messages: got %v, want %q", err, test.want)
				}
				if got := time.Since(start); got != 3*time.Second {
					t.Errorf("it ended after %v, want 3 s", got)
				}
				if err := sub.Close(); !errors.Is(err, bus.ErrClosed) {
					t.Errorf("close: got %v, want ErrClosed", err)
				}
				if err := later.Wait(t.Context()); !errors.Is(err, bus.ErrNoPublisher) || time.Since(start) < 4*time.Second {
					// A refusal is told at once, and still ends the subscription in time.
					if missing.Err == nil || err == nil {
						t.Errorf("wait of the other one: got %v after %v, want ErrNoPublisher after 4 s", err, time.Since(start))
					}
				}
				pass(time.Minute)
				if got := len(s.of(bus.Problem)); got != 2 {
					t.Errorf("problems: got %v, want one for each subscription", s.of(bus.Problem))
				}
			})
		})
	}
}

func TestSubscription_thatIsAcknowledgedHasNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub, err := s.SubscribeWith(tags.Of(1), c.handle, bus.SubscriptionConfig{Timeout: 3 * time.Second})
		must(t, err)
		closed, err := s.SubscribeWith(tags.Of(1), c.handle, bus.SubscriptionConfig{Timeout: time.Second})
		must(t, err)
		must(t, closed.Close())
		pass(2 * time.Second)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		must(t, sub.Wait(t.Context()))
		b.net.Refuse(p.Addr())
		b.net.Reset(anyPort(p.host), anyPort(s.host))
		pass(time.Minute)
		b.net.Admit(p.Addr())
		pass(time.Minute)
		must(t, p.Publish(1, nil))
		pass(time.Second)
		if c.count() != 1 || len(s.of(bus.Problem)) > 0 {
			t.Errorf("got %d messages, problems %v; want 1 and none", c.count(), s.of(bus.Problem))
		}
	})
}

func TestSubscriptionConfig_Validate_aTimeoutMustBePositive(t *testing.T) {
	err := bus.SubscriptionConfig{Timeout: -1, Duplicates: 3}.Validate()
	for _, want := range []string{"Timeout is -1ns", "Duplicates is 3"} {
		if !errors.Is(err, bus.ErrInvalidConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
