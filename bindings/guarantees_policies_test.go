// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"testing"

	"tagbus/bus"
)

// narrow are options of a publisher that has soon no room.
const narrow = "--queue-bytes 65536 --page-bytes 4096 --max-message-bytes 1000"

var four = []uint64{0x100, 0x101, 0x102, 0x103}

// TestGuarantees_policies: under a flood, with a subscriber that takes nothing for a while, each message came,
// in order, or was said to be lost, with each policy. Both ends count the same.
func TestGuarantees_policies(t *testing.T) {
	ways := []string{"pull", "thread"}
	for i, test := range []struct {
		policy string
		turn   int                                                      // of Python
		until  func(p *bus.PublisherStats, s *bus.SubscriberStats) bool // what the subscriber that takes nothing leads to
	}{
		{"block", 0, func(p *bus.PublisherStats, _ *bus.SubscriberStats) bool { return p.Refusals > 0 }},
		{"drop-newest", 2, losses},
		{"drop-oldest", 1, losses},
		{"latest", 2, func(p *bus.PublisherStats, _ *bus.SubscriberStats) bool { return p.Messages > 10_000 }},
		{"sample:10", 2, func(p *bus.PublisherStats, _ *bus.SubscriberStats) bool { return p.Messages > 10_000 }},
		{"disconnect:100ms", 0, func(p *bus.PublisherStats, _ *bus.SubscriberStats) bool { return p.Stalled > 0 }},
	} {
		t.Run(test.policy, func(t *testing.T) {
			eachPair(t, test.turn, func(t *testing.T, p pair) {
				folder := folder(t)
				pub, sub := p.publisher.drive(t, folder), p.subscriber.drive(t, folder)
				pub.do("publisher 0x100-0x103 " + narrow)
				sub.do("subscriber - --queue-bytes 65536", ways[i%2]+" 0x100-0x103 --policy "+test.policy, "acknowledged")
				pub.do("wait 1")
				sub.do("hold")
				pub.do("flood 0x100 0x103")
				for stats := sub.account().Subscriber; !test.until(pub.account().Publisher, stats); {
					if p.subscriber.name != "go" { // the loop of which waits for its handler
						stats = sub.account().Subscriber
					}
				}
				sub.do("go")
				pub.do("stop", "wait 1", "publish 0x100 0x103 8", "drain")
				published := pub.account()
				sub.say("until messages " + text(sum(published.Published)))
				sub.ok()
				got := sub.account()
				wantAll(t, published.Published, got, four...)
				wantEqual(t, published, got)
				if test.policy == "block" && got.lost() > 0 {
					t.Errorf("%d lost", got.lost())
				}
				sub.do("end")
				pub.do("end")
			})
		})
	}
}

func losses(p *bus.PublisherStats, s *bus.SubscriberStats) bool {
	return p.Losses.Lost() > 0 || s.Overflowed > 0
}
