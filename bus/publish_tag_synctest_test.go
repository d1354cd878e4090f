// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/tags"
)

// A TagPublisher refuses what its publisher refuses, for the same reasons, and goes on when
// the tag is served again.
func TestTagPublisher_isAPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{MaxMessageBytes: 1000, QueueBytes: 1 << 20}})
		one, two := p.Tag(1), p.Tag(2)
		publish := func(way *bus.TagPublisher, bytes int, want error) {
			t.Helper()
			for range 3 { // the later ones may go a shorter way
				if err := way.Publish(make([]byte, bytes)); !errors.Is(err, want) {
					t.Errorf("Publish of %d bytes: got %v, want %v", bytes, err, want)
				}
				if err := way.PublishContext(t.Context(), make([]byte, bytes)); !errors.Is(err, want) {
					t.Errorf("PublishContext of %d bytes: got %v, want %v", bytes, err, want)
				}
			}
		}
		in := newCollector()
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1, 2), in.handle)
		publish(one, 1000, nil)
		publish(one, 1001, bus.ErrMessageTooLarge)
		publish(two, 10, bus.ErrUnknownTag)
		must(t, p.AddTags(tags.Of(2)))
		publish(two, 10, nil)
		must(t, p.RemoveTags(tags.Of(2)))
		publish(two, 10, bus.ErrUnknownTag)
		must(t, p.AddTags(tags.Of(2)))
		publish(two, 10, nil)
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if got := in.count(); got != 18 || len(in.bad) > 0 {
			t.Errorf("got %d messages, want 18: %v", got, in.bad)
		}
		must(t, p.Close())
		publish(one, 10, bus.ErrClosed)
	})
}

// PublishContext of a TagPublisher waits for room, and its messages and those of the
// publisher are one sequence.
func TestTagPublisher_PublishContext_waitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, QueueBytes: 8192, MaxMessageBytes: 1000}})
		in := newCollector()
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), in.handle)
		b.stall(s.host)
		way, n := p.Tag(1), 0
		for ; way.Publish(make([]byte, 40)) == nil; n++ {
			if n%3 == 0 && p.Publish(1, make([]byte, 40)) == nil {
				n++
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := way.PublishContext(ctx, make([]byte, 40)); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that is over: got %v", err)
		}
		done := make(chan error)
		go func() { done <- way.PublishContext(t.Context(), make([]byte, 40)) }()
		synctest.Wait()
		b.net.SetWindow(anybody, anyPort(s.host), 1<<20)
		b.net.Resume(anybody, anyPort(s.host))
		must(t, <-done)
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if got := in.count(); got != n+1 || len(in.bad) > 0 {
			t.Errorf("got %d messages, want %d: %v", got, n+1, in.bad)
		}
	})
}
