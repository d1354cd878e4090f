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

type lostConnection struct {
	name   string
	depth  int // of the cache
	cfg    bus.SubscriptionConfig
	before uint64 // received
	missed uint64
	size   int
	want   []uint64 // received after
	lost   uint64
}

func TestSubscriber_aLostConnectionIsMadeUpFor(t *testing.T) {
	tests := []lostConnection{
		{"without a cache all is lost", 0, bus.SubscriptionConfig{}, 3, 5, 20, nil, 5},
		{"a cache that is deep enough loses nothing", 10, bus.SubscriptionConfig{}, 3, 5, 20, counters(4, 8), 0},
		{"exactly deep enough", 5, bus.SubscriptionConfig{}, 3, 5, 20, counters(4, 8), 0},
		{"one too few", 4, bus.SubscriptionConfig{}, 3, 5, 20, counters(5, 8), 1},
		{"nothing comes twice, whatever was asked for at first", 100, bus.SubscriptionConfig{Replay: 100}, 3, 5, 20, counters(4, 8), 0},
		{"nothing was missed", 100, bus.SubscriptionConfig{Replay: 100}, 3, 0, 20, nil, 0},
		{"nothing had come before", 100, bus.SubscriptionConfig{}, 0, 5, 20, counters(1, 5), 0},
		{"nor was there anything", 100, bus.SubscriptionConfig{Replay: 100}, 0, 0, 20, nil, 0},
		{"messages of several pages", 10, bus.SubscriptionConfig{}, 1, 2, 1500, counters(2, 3), 0},
		{"more than there is room for", 100, bus.SubscriptionConfig{}, 3, 60, 400, counters(55, 63), 51},
		{"with drop-newest nothing", 10, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropNewest}}, 3, 5, 20, nil, 5},
		{"with drop-oldest nothing", 4, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropOldest}}, 3, 5, 20, nil, 5},
		{"with latest nothing", 10, bus.SubscriptionConfig{Replay: 9, Policy: bus.Policy{Kind: bus.Latest}}, 3, 5, 20, nil, 5},
		{"with sample nothing", 10, bus.SubscriptionConfig{Replay: 2, Policy: bus.Policy{Kind: bus.Sample, Every: 1}}, 3, 5, 20, nil, 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { synctest.Test(t, test.check) })
	}
}

func (l lostConnection) check(t *testing.T) {
	b := newBed(t)
	p := b.publisher(bus.PublisherConfig{
		Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 512, QueueBytes: 8192, MaxMessageBytes: 2000, CacheMessages: l.depth},
	})
	s, c := b.subscriber(bus.SubscriberConfig{}), newReplayed()
	sub, err := s.SubscribeWith(tags.Of(1, 2), c.handle, l.cfg)
	must(t, err)
	must(t, sub.Wait(t.Context()))
	var n uint64
	publish := func(count uint64) {
		for range count {
			n++
			must(t, p.Publish(1, []byte(sized(1, n, l.size))))
			time.Sleep(10 * time.Millisecond) // each alone: latest gets all
		}
	}
	publish(l.before)
	time.Sleep(time.Second)
	b.net.Refuse(p.Addr())
	b.net.Reset(netip.AddrPortFrom(p.host, 0), netip.AddrPortFrom(s.host, 0))
	synctest.Wait()
	publish(l.missed)
	b.net.Admit(p.Addr())
	time.Sleep(20 * time.Second)
	publish(1)
	must(t, p.Drain(t.Context()))
	synctest.Wait()
	want := append(append(counters(1, l.before), l.want...), n)
	if d := cmp.Diff(want, c.counters()[1]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	c.check(t, l.size)
	lost := uint64(0)
	for _, e := range s.of(bus.Gap) {
		lost += e.Count
		if !errors.Is(e.Err, bus.ErrConnectionLost) {
			t.Errorf("gap: got %v", e)
		}
	}
	if lost != l.lost || s.Stats().Lost != l.lost {
		t.Errorf("lost: got %d in events and %d in all, want %d", lost, s.Stats().Lost, l.lost)
	}
	if st := p.Stats(); st.Replayed != uint64(len(l.want)) || st.PagesFree != st.Pages {
		t.Errorf("got %d replayed and %d of %d pages free, want %d and all", st.Replayed, st.PagesFree, st.Pages, len(l.want))
	}
}
