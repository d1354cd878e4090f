// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

func TestSubscriber_followsTheOldPublisherByTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		first := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		subscribe(t, s, tags.Of(1), func(m bus.Message) { c.data[1] = append(c.data[1], string(m.Data)) })
		must(t, first.Publish(1, []byte("old")))
		time.Sleep(time.Second)
		b.net.Kill(first.host) // its directory entry stays
		synctest.Wait()
		if len(s.of(bus.Lost)) != 1 {
			t.Fatalf("events: got %v, want one lost", s.events)
		}
		second := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		must(t, second.WaitSubscribers(t.Context(), 1, tags.Of(1)))
		must(t, second.Publish(1, []byte("new")))
		time.Sleep(time.Second)
		synctest.Wait()
		if d := cmp.Diff([]string{"old", "new"}, c.data[1]); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestSubscriber_thatReconnectsIsToldExactlyWhatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		subscribe(t, s, tags.Of(1, 2), func(m bus.Message) { c.data[m.Tag] = append(c.data[m.Tag], string(m.Data)) })
		must(t, p.Publish(1, []byte("a")))
		time.Sleep(time.Second)
		b.net.Refuse(p.Addr())
		b.net.Reset(netip.AddrPortFrom(p.host, 0), netip.AddrPortFrom(s.host, 0))
		synctest.Wait()
		for i := range 5 {
			must(t, p.Publish(1, []byte("lost")))
			if i < 3 {
				must(t, p.Publish(2, []byte("lost"))) // its first ones
			}
			must(t, p.Publish(3, nil))
		}
		b.net.Admit(p.Addr())
		time.Sleep(20 * time.Second)
		must(t, p.Publish(1, []byte("b")))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		want := map[tags.Tag]uint64{1: 5, 2: 3}
		got := make(map[tags.Tag]uint64)
		for _, e := range s.of(bus.Gap) {
			got[e.Tag] += e.Count
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("gaps (-want +got):\n%s", d)
		}
		if lost := s.Stats().Lost; lost != 8 {
			t.Errorf("lost: got %d, want 8", lost)
		}
		if d := cmp.Diff(map[tags.Tag][]string{1: {"a", "b"}}, c.data); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
