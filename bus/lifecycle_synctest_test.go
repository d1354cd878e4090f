// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// pass lets time pass, and waits for all that it brings about.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// publishInTurn publishes tags in turn until the test stops it.
func publishInTurn(t *testing.T, p *publisher, set tags.Set) (stop func() map[tags.Tag]uint64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	published := make(map[tags.Tag]uint64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for tag := range set.All() {
				if err := p.PublishContext(ctx, tag, payload(tag, published[tag]+1)); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				published[tag]++
			}
			time.Sleep(100 * time.Microsecond)
		}
	}()
	return func() map[tags.Tag]uint64 {
		cancel()
		<-done
		return published
	}
}

// All subscriptions of a connection are acknowledged before its first page,
// whatever their lane.
func TestSubscription_allOfAConnectionBecomeActiveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		all := tagRange(t, 0, 9)
		p := b.publisher(bus.PublisherConfig{Tags: all, Sending: bus.Sending{PageBytes: 512, MaxMessageBytes: 600}})
		stop := publishInTurn(t, p, all)
		defer stop()
		for range 3 {
			s := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 30})}}
			const group = 30
			for i := range uint64(group) {
				set, err := tags.Of(tags.Tag(i % 10)).MarshalBinary()
				must(t, err)
				lane := min(i, 4) // most of them share one, which has the longest answer
				s.answer = append(s.answer, control(t, &subscription.Subscribe{
					ID: i + 1, Set: set, Lane: uint16(lane), BacklogBytes: 4096 * (lane + 1), WithNext: i+1 < group,
				}))
			}
			backend, host := b.stranger(s)
			b.net.SetWindow(anybody, anyPort(host), 32) // while it takes them in, pages wait
			b.net.SetDelay(anybody, anyPort(host), time.Millisecond)
			must(t, backend.OpenEndpoint(p.Addr(), netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1 << 20}}))
			pass(time.Second)
			s.mu.Lock()
			pages, acked := 0, 0
			for _, m := range s.got[1:] {
				if m[0] == byte(subscription.KindPage) {
					pages++
				}
				if m[0] == byte(subscription.KindSubscribed) {
					if acked++; pages > 0 {
						t.Errorf("acknowledgement %d comes after %d pages", acked, pages)
					}
				}
			}
			s.mu.Unlock()
			if acked != group || pages == 0 {
				t.Fatalf("got %d acknowledgements and %d pages, want %d and some", acked, pages, group)
			}
			must(t, backend.Close())
		}
	})
}

// Many subscriptions, on several lanes, lose nothing unreported and get nothing
// twice while the connection breaks again and again under full load.
func TestSubscription_resubscribingUnderLoadIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		const lanes, each = 3, 4
		all := tagRange(t, 0, lanes*each-1)
		p := b.publisher(bus.PublisherConfig{Tags: all, Sending: bus.Sending{PageBytes: 512, MaxMessageBytes: 600, QueueBytes: 8192}})
		s := b.subscriber(bus.SubscriberConfig{})
		delivered := make(map[string]uint64) // by subscription and tag
		last := make(map[string]uint64)
		var subs []*bus.Subscription
		for lane := range lanes {
			base := tags.Tag(lane * each)
			for i, set := range []tags.Set{tagRange(t, base, base+each-1), tags.Of(base, base+2), tags.Of(base + 3)} {
				sub, err := s.SubscribeWith(set, func(m bus.Message) {
					key := fmt.Sprint(lane, "/", i, "/", m.Tag)
					delivered[key]++
					if m.Counter <= last[key] || string(m.Data) != string(payload(m.Tag, m.Counter)) {
						t.Errorf("%s: message %d after %d, %.20q", key, m.Counter, last[key], m.Data)
					}
					last[key] = m.Counter
				}, bus.SubscriptionConfig{BacklogBytes: 1024 * (lane + 1)})
				must(t, err)
				must(t, sub.Wait(t.Context()))
				subs = append(subs, sub)
			}
		}
		stop := publishInTurn(t, p, all)
		for i := range testkit.Fewer(20) {
			pass(time.Duration(i*37%50) * time.Millisecond)
			b.net.Reset(anyPort(p.host), anyPort(s.host))
			pass(300 * time.Millisecond)
		}
		pass(time.Second)
		published := stop()
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		lost := gaps(s.member)
		for i, sub := range subs {
			for tag := range sub.Tags().All() {
				key := fmt.Sprint(i/3, "/", i%3, "/", tag)
				if got := delivered[key] + lost[tag]; got != published[tag] {
					t.Errorf("%s: delivered %d + lost %d, published %d", key, delivered[key], lost[tag], published[tag])
				}
			}
		}
		if got := len(s.of(bus.Subscribed)); got != len(subs) {
			t.Errorf("got %d subscribed events, want one for each of %d subscriptions", got, len(subs))
		}
		if got, want := len(s.of(bus.Resubscribed)), len(s.of(bus.Lost))*len(subs); got != want || got == 0 {
			t.Errorf("got %d resubscribed events, want %d", got, want)
		}
	})
}

// publisherAt opens a publisher at a certain address.
func (b *bed) publisherAt(addr netip.AddrPort, cfg bus.PublisherConfig) *publisher {
	b.tb.Helper()
	m := b.member()
	m.host = addr.Addr()
	cfg.Listen, cfg.OnEvent = addr, m.note
	cfg.Sending = thrifty(cfg.Sending)
	p, err := bus.NewPublisher(b.opener(m), b.dir, cfg)
	must(b.tb, err)
	b.tb.Cleanup(func() {
		must(b.tb, p.Close())
		m.loop.Close()
	})
	return &publisher{p, m}
}

func TestSubscriber_aPublisherIsStartedAgain(t *testing.T) {
	tests := []struct {
		name     string
		samePort bool
		killed   bool // without goodbye, and its entry stays for a while
	}{
		{"in order, on the same port", true, false},
		{"in order, on another port", false, false},
		{"killed, on the same port", true, true},
		{"killed, on another port", false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				first := b.publisher(bus.PublisherConfig{Common: bus.Common{Name: "first"}, Tags: tags.Of(1)})
				s := b.subscriber(bus.SubscriberConfig{})
				got := make(origins)
				subscribe(t, s, tags.Of(1), got.handle)
				must(t, first.Publish(1, nil))
				pass(time.Second)
				if test.killed {
					b.net.Kill(first.host)
				} else {
					must(t, first.Drain(t.Context()))
					must(t, first.Close())
				}
				pass(3 * time.Second)
				addr := first.Addr()
				if !test.samePort {
					addr = netip.AddrPortFrom(addr.Addr(), addr.Port()+1000)
				}
				second := b.publisherAt(addr, bus.PublisherConfig{Common: bus.Common{Name: "second"}, Tags: tags.Of(1)})
				must(t, second.WaitSubscribers(t.Context(), 1, tags.Of(1)))
				must(t, second.Publish(1, nil))
				pass(30 * time.Second)
				if test.killed {
					b.dir.Expire(first.Instance(), directory.ErrExpired)
				}
				must(t, second.Publish(1, nil))
				pass(time.Second)
				if d := cmp.Diff(origins{"first": {1: {1}}, "second": {1: {1, 2}}}, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				want := map[bus.EventKind]int{bus.Connected: 2, bus.Subscribed: 2, bus.Goodbye: 1}
				if test.killed {
					want = map[bus.EventKind]int{bus.Connected: 2, bus.Subscribed: 2, bus.Lost: 1, bus.Vanished: 1}
				}
				for kind := bus.Connected; kind <= bus.Duplicate; kind++ {
					if n := len(s.of(kind)); n != want[kind] && kind != bus.Refused {
						t.Errorf("got %d %v events, want %d: %v", n, kind, want[kind], s.events)
					}
				}
			})
		})
	}
}

// While it is connected, a publisher that is not in the directory is used as
// before; it is not dialed again.
func TestSubscriber_aDirectoryEntryThatDisappears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		dir := &keeper{Directory: b.dir}
		p, m := b.openPublisher(dir, bus.PublisherConfig{Tags: tags.Of(1, 2, 3)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub := subscribe(t, s, tags.Of(1), c.handle)
		dir.Expire(p.Instance(), directory.ErrExpired)
		pass(time.Minute)
		must(t, sub.Add(tags.Of(2)))
		must(t, sub.Wait(t.Context()))
		subscribe(t, s, tags.Of(3), c.handle)
		for tag := range tags.Tag(3) {
			must(t, p.Publish(tag+1, nil))
		}
		pass(time.Second)
		if c.count() != 3 {
			t.Errorf("without an entry: got %d messages, want 3; events %v", c.count(), s.events)
		}
		must(t, dir.registration.Update(dir.entry)) // it is back
		pass(time.Second)
		must(t, p.Publish(1, nil))
		pass(time.Second)
		if c.count() != 4 || len(s.of(bus.Connected)) != 1 {
			t.Errorf("with it again: got %d messages, want 4; events %v, want one connection", c.count(), s.events)
		}

		dir.Expire(p.Instance(), directory.ErrExpired)
		b.net.Reset(anyPort(m.host), anyPort(s.host))
		pass(time.Minute)
		must(t, p.Publish(1, nil))
		if got := s.kinds(); len(p.Stats().Subscribers) != 1 || !slices.Contains(got, bus.Lost) || slices.Contains(got, bus.Vanished) {
			t.Errorf("a minute after the connection was lost: %d connections, events %v; want one, lost and not vanished",
				len(p.Stats().Subscribers), s.events)
		}

		pass(time.Second)
		b.net.Refuse(p.Addr())
		b.net.Reset(anyPort(m.host), anyPort(s.host))
		pass(time.Minute)
		b.net.Admit(p.Addr())
		must(t, p.Publish(1, nil))
		pass(time.Minute)
		if got := s.kinds(); len(p.Stats().Subscribers) != 0 || !slices.Contains(got, bus.Vanished) {
			t.Errorf("when it does not answer: %d connections, events %v; want none, and vanished", len(p.Stats().Subscribers), s.events)
		}
		must(t, dir.registration.Update(dir.entry))
		pass(time.Minute)
		if got := gaps(s.member); got[1] != 1 || len(got) != 1 {
			t.Errorf("gaps: got %v, want 1 of tag 1", got)
		}
	})
}
