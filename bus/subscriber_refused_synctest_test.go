// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

func TestPublisher_refusesWithAReason(t *testing.T) {
	tests := []struct {
		name  string
		entry func(*directory.Entry)
		pub   bus.PublisherConfig
		want  string
	}{
		{"an entry of another backend", func(e *directory.Entry) { e.Backend = "rdma:verbs" }, bus.PublisherConfig{}, `publisher speaks "rdma:verbs", this subscriber "memory": use the same backend for both, here "rdma:verbs" (node.Config.Backend)`},
		{"messages above the subscriber's limit", nil, bus.PublisherConfig{Sending: bus.Sending{MaxMessageBytes: 80 << 20}}, "raise SubscriberConfig.MaxMessageBytes"},
		{"a stale entry", func(e *directory.Entry) { e.Instance = "somebodyelse" }, bus.PublisherConfig{}, "stale"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				test.pub.Tags = tags.Of(1)
				p := b.publisher(test.pub)
				if test.entry != nil {
					entries, err := b.dir.List()
					must(t, err)
					e := entries[0]
					test.entry(&e)
					if e.Instance == p.Instance() {
						e.Instance = "copy"
					}
					e.Tags = tags.Of(7)
					_, err = b.dir.Announce(e)
					must(t, err)
				}
				s := b.subscriber(bus.SubscriberConfig{})
				_, err := s.Subscribe(tags.Of(1, 7), func(bus.Message) {})
				must(t, err)
				time.Sleep(time.Minute)
				synctest.Wait()
				found := false
				for _, e := range s.events {
					found = found || e.Err != nil && strings.Contains(e.Err.Error(), test.want)
				}
				if !found {
					t.Errorf("events: got %v, want one with %q", s.events, test.want)
				}
				if len(s.events) > 20 {
					t.Errorf("got %d events in a minute, want at most 20: both sides are to be patient", len(s.events))
				}
			})
		})
	}
}

func TestPublisher_refusesTooManyTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		all, err := tags.Range(0, 1<<20)
		must(t, err)
		b.publisher(bus.PublisherConfig{Tags: all})
		s := b.subscriber(bus.SubscriberConfig{})
		scattered := make([]tags.Tag, subscription.MaxParts+1)
		for i := range scattered {
			scattered[i] = tags.Tag(2 * i)
		}
		if _, err := s.Subscribe(tags.Of(scattered...), func(bus.Message) {}); !errors.Is(err, subscription.ErrTooManyTags) {
			t.Errorf("got %v, want ErrTooManyTags", err)
		}
		many := tags.Of(scattered[:65536]...) // what one subscription must hold
		subscribe(t, s, many, func(bus.Message) {})
	})
}

func TestSubscription_Wait_doesNotDependOnADeadPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		dead := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		b.net.SetDelay(netip.AddrPort{}, netip.AddrPortFrom(dead.host, 0), time.Second) // so that it is refused last
		b.net.Refuse(dead.Addr())
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
	})
}

func TestSubscription_onePublishersRefusalLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		// An impostor refuses every subscription.
		refuser := &stranger{answer: [][]byte{
			hello(t, subscription.Hello{Instance: "refuser", MaxMessageBytes: 1 << 14}),
			control(t, &subscription.Refused{ID: 1, Reason: "not for you"}),
		}}
		backend, host := b.stranger(refuser)
		listen, err := backend.OpenListenEndpoint(netip.AddrPortFrom(host, 0), netio.Params{})
		must(t, err)
		_, err = b.dir.Announce(directory.Entry{
			Instance: "refuser", Backend: "memory", Addresses: []netip.AddrPort{listen.Addr()},
			Tags: tags.Of(1, 2), PageBytes: 1024, MaxMessageBytes: 1024,
		})
		must(t, err)
		s := b.subscriber(bus.SubscriberConfig{})
		sub, err := s.Subscribe(tags.Of(1), nil)
		must(t, err)
		if err := sub.Wait(t.Context()); err == nil || err.Error() != "not for you" {
			t.Errorf("refused by all: got %v, want the reason", err)
		}
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		must(t, p.WaitSubscribers(t.Context(), 1, tags.Of(1)))
		must(t, p.Publish(1, []byte("x")))
		for m, err := range sub.Messages(t.Context()) {
			must(t, err)
			if string(m.Data) != "x" {
				t.Errorf("got %q, want x", m.Data)
			}
			break
		}
	})
}
