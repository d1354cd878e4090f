// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// TestPublisher_Stats_tellWhatTheEndpointsTake: a subscriber that does not read is given
// small pages until its endpoint takes no more, and then all of them go out.
func TestPublisher_Stats_tellWhatTheEndpointsTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sends = 64 // that an endpoint takes
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: 100 << 10}, Common: bus.Common{HeartbeatInterval: bus.HeartbeatsOff}})
		stalled, quick := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Name: "stalled", HeartbeatInterval: bus.HeartbeatsOff}}), b.subscriber(bus.SubscriberConfig{Common: bus.Common{Name: "quick", HeartbeatInterval: bus.HeartbeatsOff}})
		subscribe(t, stalled, tags.Of(1), newCollector().handle)
		subscribe(t, quick, tags.Of(2), newCollector().handle)
		check := func(when, name string, free, fewest int) {
			t.Helper()
			synctest.Wait()
			for _, s := range p.Stats().Subscribers {
				if s.Peer.Name == name && (s.SendsFree != free || s.MinSendsFree != fewest) {
					t.Errorf("%s, %s: got %d sends free, the fewest %d, want %d and %d",
						when, name, s.SendsFree, s.MinSendsFree, free, fewest)
				}
			}
		}
		p.Stats() // those of the subscribing
		time.Sleep(2 * time.Minute)
		check("at rest", "stalled", sends, sends)

		b.net.SetWindow(netip.AddrPort{}, netip.AddrPortFrom(stalled.host, 0), 1)
		b.net.Stall(netip.AddrPort{}, netip.AddrPortFrom(stalled.host, 0))
		page := func() {
			must(t, p.Publish(1, make([]byte, 8)))
			p.Flush()
		}
		page()
		check("one page", "stalled", sends-1, sends-1)
		for range sends + 10 {
			page()
		}
		check("more pages than it takes", "stalled", 0, 0)
		check("nothing since", "stalled", 0, 0)
		check("one of two subscribers is stalled", "quick", sends, sends)

		b.net.Resume(netip.AddrPort{}, netip.AddrPortFrom(stalled.host, 0))
		check("all went out", "stalled", sends, 0)
		time.Sleep(time.Minute)
		check("a minute later", "stalled", sends, 0)
		time.Sleep(time.Minute)
		check("nothing since", "stalled", sends, sends)
	})
}
