// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// pair opens a publisher of tag 1 and a subscriber to it.
func (b *bed) pair(pub bus.PublisherConfig, sub bus.SubscriberConfig, h bus.Handler) (*publisher, *subscriber, *bus.Subscription) {
	b.tb.Helper()
	pub.Tags, pub.PageBytes, pub.QueueBytes, pub.MaxMessageBytes = tags.Of(1), 1024, 8192, 1000
	p, s := b.publisher(pub), b.subscriber(sub)
	return p, s, subscribe(b.tb, s, tags.Of(1), h)
}

func ignore(bus.Message) {}

// hearing notes when the hosts of a bed last heard something.
func (b *bed) hearing() (last func(netip.Addr) time.Time) {
	var mu sync.Mutex
	heard := make(map[netip.Addr]time.Time)
	b.net.Observe(func(e memnet.Event) {
		if e.Kind == memnet.Delivered {
			mu.Lock()
			heard[e.Local.Addr()] = time.Now()
			mu.Unlock()
		}
	})
	return func(host netip.Addr) time.Time {
		mu.Lock()
		defer mu.Unlock()
		return heard[host]
	}
}

// span is how long after the last sign of life a side finds the other one silent. With
// the zero span it does not, because it hears the end.
type span struct{ least, most time.Duration }

// The bound of docs/guarantees.md: HeartbeatTimeout in whole ticks and one more;
// a tick is a quarter of HeartbeatInterval.
func TestPublisher_aSilentPeerIsFoundOutInTime(t *testing.T) {
	usual := span{6 * time.Second, 6500 * time.Millisecond}
	partition := func(b *bed, p *publisher, s *subscriber) { b.net.Partition(anyPort(p.host), anyPort(s.host)) }
	tests := []struct {
		name              string
		interval, timeout time.Duration
		fault             func(*bed, *publisher, *subscriber)
		byPub, bySub      span
	}{
		{"a cut network is seen from both sides", 0, 0, partition, usual, usual},
		{"a network is cut towards the subscriber", 0, 0, func(b *bed, _ *publisher, s *subscriber) {
			b.net.Stall(anybody, anyPort(s.host))
		}, span{}, usual},
		{"a network is cut towards the publisher", 0, 0, func(b *bed, p *publisher, _ *subscriber) {
			b.net.Stall(anybody, anyPort(p.host))
		}, usual, span{}},
		{"the subscriber is stopped", 0, 0, func(_ *bed, _ *publisher, s *subscriber) { s.loop.Freeze() }, usual, span{}},
		{"the publisher is stopped", 0, 0, func(_ *bed, p *publisher, _ *subscriber) { p.loop.Freeze() }, span{}, usual},
		{
			"short times", 20 * time.Millisecond, 100 * time.Millisecond, partition,
			span{100 * time.Millisecond, 105 * time.Millisecond},
			span{100 * time.Millisecond, 105 * time.Millisecond},
		},
		{
			"long times", 4 * time.Second, 30 * time.Second, partition,
			span{30 * time.Second, 31 * time.Second},
			span{30 * time.Second, 31 * time.Second},
		},
		{
			"a timeout between two ticks is rounded up", time.Second, 4100 * time.Millisecond, partition,
			span{4100 * time.Millisecond, 4500 * time.Millisecond},
			span{4100 * time.Millisecond, 4500 * time.Millisecond},
		},
		{
			"only the timeout is set", 0, 600 * time.Millisecond, partition,
			span{600 * time.Millisecond, 650 * time.Millisecond},
			span{600 * time.Millisecond, 650 * time.Millisecond},
		},
	}
	for _, test := range tests {
		for _, name := range []string{test.name + ", idle", test.name + ", while messages come"} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t)
					last := b.hearing()
					p, s, _ := b.pair(
						bus.PublisherConfig{Common: bus.Common{HeartbeatInterval: test.interval, HeartbeatTimeout: test.timeout}},
						bus.SubscriberConfig{Common: bus.Common{HeartbeatInterval: test.interval, HeartbeatTimeout: test.timeout}}, ignore)
					time.Sleep(time.Minute + 1234*time.Millisecond)
					if name != test.name+", idle" {
						go keepPublishing(t.Context(), p, time.Hour)
						time.Sleep(time.Second + 2*time.Millisecond)
					}
					test.fault(b, p, s)
					time.Sleep(5 * time.Millisecond) // what was under way arrives
					byPub, bySub := last(p.host), last(s.host)
					time.Sleep(45 * time.Second)
					synctest.Wait()
					checkSilence(t, "publisher", p.member, byPub, test.byPub, p.Stats().Silent)
					checkSilence(t, "subscriber", s.member, bySub, test.bySub, s.Stats().Silent)
					p.loop.Thaw()
					s.loop.Thaw()
				})
			})
		}
	}
}

// keepPublishing publishes a message every 100 ms, whether it succeeds or not, until the test ends
// or the time is over. It does so on the loop, since no goroutine of a stopped program runs.
func keepPublishing(ctx context.Context, p *publisher, d time.Duration) {
	until := time.Now().Add(d)
	for time.Now().Before(until) && p.loop.Post(func() { _ = p.Publish(1, nil) }) {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

func checkSilence(t *testing.T, who string, m *member, heard time.Time, want span, counted uint64) {
	t.Helper()
	e, at := m.first(bus.Lost)
	var silent *bus.SilentError
	found := errors.As(e.Err, &silent)
	switch {
	case found != (want != span{}), found != (counted > 0):
		t.Errorf("%s: got %v and %d counted, want the other found silent: %v", who, m.events, counted, want != span{})
	case found && (at.Sub(heard) < want.least || at.Sub(heard) > want.most):
		t.Errorf("%s: closed %v after the last sign of life, want %v to %v", who, at.Sub(heard), want.least, want.most)
	case found && (!errors.Is(e.Err, bus.ErrSilent) || silent.Limit > want.least || silent.For > at.Sub(heard)):
		t.Errorf("%s: got cause %q after %v", who, e.Err, at.Sub(heard))
	}
}

// A peer that is silent for less than the timeout keeps its connection.
func TestPublisher_aShortSilenceEndsNothing(t *testing.T) {
	tests := []struct {
		name       string
		begin, end func(*bed, *publisher, *subscriber)
	}{
		{
			"a stopped subscriber", func(_ *bed, _ *publisher, s *subscriber) { s.loop.Freeze() },
			func(_ *bed, _ *publisher, s *subscriber) { s.loop.Thaw() },
		},
		{
			"a stopped publisher", func(_ *bed, p *publisher, _ *subscriber) { p.loop.Freeze() },
			func(_ *bed, p *publisher, _ *subscriber) { p.loop.Thaw() },
		},
		{
			"a cut network", func(b *bed, p *publisher, s *subscriber) { b.net.Partition(anyPort(p.host), anyPort(s.host)) },
			func(b *bed, p *publisher, s *subscriber) { b.net.Heal(anyPort(p.host), anyPort(s.host)) },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				c := newCollector()
				p, s, _ := b.pair(bus.PublisherConfig{}, bus.SubscriberConfig{}, c.handle)
				for i := range 50 { // at all places between two beats
					time.Sleep(10*time.Second + time.Duration(i)*77*time.Millisecond)
					test.begin(b, p, s)
					must(t, p.Publish(1, nil))
					time.Sleep(3900 * time.Millisecond) // and up to 2.1 s without a beat before
					test.end(b, p, s)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if len(p.of(bus.Lost))+len(s.of(bus.Lost)) > 0 || c.count() != 50 {
					t.Errorf("got %d of 50 messages; events: publisher %v, subscriber %v", c.count(), p.events, s.events)
				}
			})
		})
	}
}

// A process that was itself stopped has not heard its peers. It does not find them
// silent.
func TestSubscriber_aStoppedProcessBlamesNoPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		long := 24 * time.Hour // the other side is patient
		p, s, _ := b.pair(bus.PublisherConfig{Common: bus.Common{HeartbeatTimeout: long}}, bus.SubscriberConfig{}, ignore)
		patient := b.subscriber(bus.SubscriberConfig{Common: bus.Common{HeartbeatTimeout: long}})
		q := b.publisher(bus.PublisherConfig{Tags: tags.Of(2)})
		subscribe(t, patient, tags.Of(2), ignore)
		time.Sleep(1234 * time.Millisecond)
		for _, d := range []time.Duration{time.Second, 5 * time.Second, 7 * time.Second, time.Hour} {
			s.loop.Freeze()
			q.loop.Freeze()
			time.Sleep(d)
			s.loop.Thaw()
			q.loop.Thaw()
			time.Sleep(20 * time.Second)
		}
		synctest.Wait()
		for _, m := range []*member{p.member, s.member, patient.member, q.member} {
			if lost := m.of(bus.Lost); len(lost) > 0 {
				t.Errorf("got %v, want nothing lost", lost)
			}
		}
	})
}
