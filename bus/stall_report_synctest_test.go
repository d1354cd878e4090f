// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// Operators see which subscriber holds up the publisher, once, and when that is over.
func TestPublisher_reportsAStallOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{}))
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), ignore)
		slow, sub := b.stuck(bus.Policy{})
		b.stuck(bus.Policy{Kind: bus.DropOldest})
		for round := range 3 {
			fill(t, p, 1)
			full := time.Now()
			published := make(chan error, 1)
			go func() { published <- p.PublishContext(t.Context(), 1, make([]byte, 900)) }()
			time.Sleep(10 * time.Minute)
			stalled, resumed := p.of(bus.Stalled), p.of(bus.Resumed)
			if len(stalled) != round+1 || len(resumed) != round {
				t.Fatalf("stall %d: got %v and %v", round+1, stalled, resumed)
			}
			var stall *bus.StallError
			if e := stalled[round]; !errors.As(e.Err, &stall) || stall.Limit != 0 || e.Peer.Addr.Addr() != slow.host {
				t.Errorf("stall %d: got %v, want the slow one named", round+1, e)
			}
			if d := p.last(bus.Stalled).Sub(full); d < 6*time.Second || d > 7*time.Second {
				t.Errorf("stall %d: reported after %v, want 6 to 7 s", round+1, d)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			readAll(ctx, sub)
			cancel()
			must(t, <-published)
			if got := len(p.of(bus.Resumed)); got != round+1 {
				t.Errorf("stall %d: got %d events that it is over", round+1, got)
			}
		}
	})
}

// A stalled subscriber for which no publisher waits is not reported.
func TestPublisher_aStallThatHoldsUpNobodyIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{}))
		_, sub := b.stuck(bus.Policy{})
		for range 6 { // more than it reads, less than it may hold
			must(t, p.Publish(1, make([]byte, 900)))
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		if got := p.of(bus.Stalled); len(got) > 0 {
			t.Errorf("got %v, want nothing: the publisher has room", got)
		}
		fill(t, p, 1)
		time.Sleep(time.Minute)
		if got := p.of(bus.Stalled); len(got) != 1 {
			t.Errorf("got %v, want one event", got)
		}

		// Once there was room again, the past does not count.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		readAll(ctx, sub)
		for range 6 {
			must(t, p.Publish(1, make([]byte, 900)))
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		if got := p.of(bus.Stalled); len(got) != 1 {
			t.Errorf("got %v, want no further event: the publisher has room", got)
		}
	})
}

// Subscribers are also to blame when they hold all of the pool, and none of them
// as much as it may.
func TestPublisher_reportsAStallThatEmptiesThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		cfg := small(bus.PublisherConfig{})
		cfg.PoolBytes = 9 * 1024
		p := b.publisher(cfg)
		var subs []*bus.Subscription
		for _, set := range []tags.Set{tags.Of(1), tags.Of(2)} {
			_, sub := b.stuckOn(set, bus.Policy{})
			subs = append(subs, sub)
		}
		for i := 0; p.Stats().PagesFree > 0; i++ {
			must(t, p.Publish(tags.Tag(1+i%2), make([]byte, 990))) // nothing of a page is left
			synctest.Wait()
		}
		for _, s := range p.Stats().Subscribers {
			if s.Queued >= s.Limit {
				t.Fatalf("got a full subscriber, want only the pool empty: %+v", s)
			}
		}
		time.Sleep(time.Minute)
		if got := p.of(bus.Stalled); len(got) != 0 {
			t.Errorf("before the publisher needs room: got %v, want none", got)
		}
		if err := p.Publish(1, make([]byte, 900)); !errors.Is(err, bus.ErrNoResources) {
			t.Fatalf("got %v, want ErrNoResources", err)
		}
		time.Sleep(time.Minute)
		if got := p.of(bus.Stalled); len(got) != 2 {
			t.Errorf("got %v, want both that hold the pool", got)
		}

		// Once there was memory again, the past does not count.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		readAll(ctx, subs[0])
		for range 6 {
			must(t, p.Publish(1, make([]byte, 900)))
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		if got := p.of(bus.Stalled); len(got) != 2 {
			t.Errorf("got %v, want no further event: the publisher has room", got)
		}
	})
}
