// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// join subscribes with a configuration and waits until what is old has come.
func join(tb testing.TB, s *subscriber, set tags.Set, cfg bus.SubscriptionConfig) (*bus.Subscription, *replayed) {
	tb.Helper()
	c := newReplayed()
	sub, err := s.SubscribeWith(set, c.handle, cfg)
	must(tb, err)
	must(tb, sub.Wait(tb.Context()))
	synctest.Wait()
	return sub, c
}

func TestSubscription_oldMessagesComeForTagsNewInTheirLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{CacheMessages: 10}})
		s := b.subscriber(bus.SubscriberConfig{})
		for n := range uint64(5) {
			must(t, p.Publish(1, []byte(sized(1, n+1, 20))))
			must(t, p.Publish(2, []byte(sized(2, n+1, 20))))
		}
		got := func(c *replayed, want map[tags.Tag][]uint64) {
			t.Helper()
			if d := cmp.Diff(want, c.counters()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			c.check(t, 20)
		}
		first, c := join(t, s, tags.Of(1), bus.SubscriptionConfig{Replay: 3})
		got(c, map[tags.Tag][]uint64{1: {3, 4, 5}})

		second, c := join(t, s, tags.Of(1, 2), bus.SubscriptionConfig{Replay: 2}) // another Replay is no other lane
		got(c, map[tags.Tag][]uint64{2: {4, 5}})

		_, c = join(t, s, tags.Of(1), bus.SubscriptionConfig{Replay: 2, BacklogBytes: 1 << 20}) // another backlog is
		got(c, map[tags.Tag][]uint64{1: {4, 5}})

		must(t, first.Unsubscribe(t.Context()))
		must(t, second.Unsubscribe(t.Context()))
		_, c = join(t, s, tags.Of(1), bus.SubscriptionConfig{Replay: 100}) // from the first message on, again
		got(c, map[tags.Tag][]uint64{1: {1, 2, 3, 4, 5}})
		if gaps := s.of(bus.Gap); len(gaps) > 0 {
			t.Errorf("gaps: got %v, want none", gaps)
		}
	})
}

func TestPublisher_oldMessagesLeaveHalfOfTheRoom(t *testing.T) {
	for _, policy := range []bus.Policy{{}, {Kind: bus.DropNewest}, {Kind: bus.DropOldest}} {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{
					Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 512, QueueBytes: 16 * 512, MaxMessageBytes: 400, CacheMessages: 100},
				})
				for n := range uint64(60) {
					must(t, p.Publish(1, []byte(sized(1, n+1, 400))))
				}
				s, c := b.subscriber(bus.SubscriberConfig{}), newReplayed()
				port := netip.AddrPortFrom(s.host, 0)
				b.net.SetWindow(netip.AddrPort{}, port, 1024)
				sub, err := s.SubscribeWith(tags.Of(1), c.handle, bus.SubscriptionConfig{Replay: 100, Policy: policy})
				must(t, err)
				must(t, sub.Wait(t.Context()))
				b.net.Stall(netip.AddrPort{}, port)
				for n := uint64(60); n < 68; n++ { // each a page, and nothing is taken away
					must(t, p.Publish(1, []byte(sized(1, n+1, 400))))
				}
				if st := p.Stats(); st.Replayed != 9 {
					t.Errorf("replayed: got %d, want 9", st.Replayed)
				}
				b.net.Resume(netip.AddrPort{}, port)
				must(t, p.Drain(t.Context()))
				synctest.Wait()
				if d := cmp.Diff(map[tags.Tag][]uint64{1: counters(52, 68)}, c.counters()); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

// A pool that is nearly in use is not used up by those who come late, and those
// who may lose messages leave half of it alone.
func TestPublisher_oldMessagesLeaveHalfOfThePool(t *testing.T) {
	tests := []struct {
		policy      bus.Policy
		least, most int // pages free
	}{
		{bus.Policy{}, 4, 6},                       // where a joiner gets as much as is sent at once
		{bus.Policy{Kind: bus.DropNewest}, 18, 22}, // half, and what does not fit into the pages of the others,
	}
	for _, test := range tests {
		t.Run(test.policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{
					Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 512, QueueBytes: 40 * 512, PoolBytes: 41 * 512, MaxMessageBytes: 400, CacheMessages: 100},
				})
				for n := range uint64(100) {
					must(t, p.Publish(1, []byte(sized(1, n+1, 400))))
				}
				for range 40 {
					s := b.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: 1}}) // it takes nothing more at once
					b.net.SetWindow(netip.AddrPort{}, netip.AddrPortFrom(s.host, 0), 600)
					var h bus.Handler
					if !test.policy.Lossless() { // a full queue does not stop it
						h = func(bus.Message) { b.stall(s.host) }
					}
					_, err := s.SubscribeWith(tags.Of(1), h, bus.SubscriptionConfig{Replay: 100, Policy: test.policy})
					must(t, err)
					synctest.Wait()
				}
				if got := p.Stats().PagesFree; got < test.least || got > test.most {
					t.Errorf("%d of 41 pages free, want %d to %d", got, test.least, test.most)
				}
			})
		})
	}
}

// A tag of which nothing had come, and one that another subscription asked for
// meanwhile, are made up for as well.
func TestSubscription_thatJoinsDuringTheReconnectTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{CacheMessages: 10}})
		s := b.subscriber(bus.SubscriberConfig{})
		_, c := join(t, s, tags.Of(1, 2), bus.SubscriptionConfig{})
		must(t, p.Publish(1, []byte(sized(1, 1, 20))))
		time.Sleep(time.Second)
		b.net.Refuse(p.Addr())
		b.net.Reset(netip.AddrPortFrom(p.host, 0), netip.AddrPortFrom(s.host, 0))
		synctest.Wait()
		for range 10 { // so that one comes first unless that is prevented
			_, err := s.SubscribeWith(tags.Of(1, 2), func(bus.Message) {}, bus.SubscriptionConfig{Replay: 10})
			must(t, err)
		}
		for n := uint64(1); n <= 3; n++ {
			must(t, p.Publish(1, []byte(sized(1, n+1, 20))))
			must(t, p.Publish(2, []byte(sized(2, n, 20))))
		}
		b.net.Admit(p.Addr())
		time.Sleep(20 * time.Second)
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if d := cmp.Diff(map[tags.Tag][]uint64{1: {1, 2, 3, 4}, 2: {1, 2, 3}}, c.counters()); d != "" {
			t.Errorf("the first subscription (-want +got):\n%s", d)
		}
		if gaps, problems := s.of(bus.Gap), s.of(bus.Problem); len(gaps)+len(problems) > 0 {
			t.Errorf("events: got %v %v, want none", gaps, problems)
		}
	})
}

func TestPublisherConfig_Validate_cachesAreConfiguredTogether(t *testing.T) {
	tests := []struct {
		name string
		cfg  bus.PublisherConfig
		ok   bool
	}{
		{"without", bus.PublisherConfig{}, true},
		{"with the default memory", bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1}}, true},
		{"with little memory", bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1, CacheBytes: 4096}}, true},
		{"with too little", bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1, CacheBytes: 4095}}, false},
		{"with memory for nothing", bus.PublisherConfig{Sending: bus.Sending{CacheBytes: 4096}}, false},
		{"with a negative number", bus.PublisherConfig{Sending: bus.Sending{CacheMessages: -1}}, false},
		{"with too many", bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1<<20 + 1}}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.cfg.Tags = tags.Of(1)
			if err := test.cfg.Validate(); (err == nil) != test.ok || err != nil && !errors.Is(err, bus.ErrInvalidConfig) {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := (bus.SubscriptionConfig{Replay: -1}).Validate(); !errors.Is(err, bus.ErrInvalidConfig) {
		t.Errorf("a negative replay: got %v", err)
	}
}
