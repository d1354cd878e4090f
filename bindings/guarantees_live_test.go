// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"testing"

	"tagbus/internal/testkit"
)

// TestGuarantees_liveSubscription: tags come and go in a subscription under a flood. Of the others all
// comes, and both ends count the same.
func TestGuarantees_liveSubscription(t *testing.T) {
	eachPair(t, 1, func(t *testing.T, p pair) {
		folder := folder(t)
		pub, sub := p.publisher.drive(t, folder), p.subscriber.drive(t, folder)
		pub.do("publisher 0x100-0x107")
		sub.do("subscriber -", "thread 0x100-0x103 --policy block", "acknowledged")
		pub.do("flood 0x100 0x107")
		for range changes() {
			sub.do("add 0x104-0x105,0x107", "acknowledged", "until got "+text(sub.account().got()+100))
			sub.do("remove 0x105,0x107", "acknowledged", "remove 0x104", "acknowledged")
		}
		pub.do("stop", "drain")
		published := pub.account()
		sub.do("until goodbye 1")
		got := sub.caughtUp()
		wantAll(t, published.Published, got, four...)
		wantEqual(t, published, got)
		for tag := uint64(0x104); tag <= 0x107; tag++ {
			if r := got.Tags[tag]; (r != nil) != (tag != 0x106) {
				t.Errorf("tag %#x: got %+v", tag, r)
			}
		}
		if got.lost() > 0 {
			t.Errorf("lost %d", got.lost())
		}
		sub.do("end")
		pub.do("end")
	})
}

// TestGuarantees_livePublisher: a publisher withdraws tags and serves them again under a flood. All that was
// published comes.
func TestGuarantees_livePublisher(t *testing.T) {
	eachPair(t, 0, func(t *testing.T, p pair) {
		folder := folder(t)
		pub, sub := p.publisher.drive(t, folder), p.subscriber.drive(t, folder)
		pub.do("publisher 0x100-0x103")
		sub.do("subscriber -", "pull 0x100-0x107 --policy block", "acknowledged")
		pub.do("wait 1", "flood 0x100 0x107")
		for range changes() {
			pub.do("serve 0x104-0x105,0x107", "withdraw 0x105,0x107")
			sub.do("until got " + text(sub.account().got()+100))
			pub.do("withdraw 0x104")
		}
		pub.do("serve 0x104-0x107")
		sub.do("until got " + text(sub.account().got()+10000))
		pub.do("stop", "drain")
		published := pub.account()
		sub.do("until messages " + text(sum(published.Published)))
		got := sub.account()
		wantAll(t, published.Published, got, append([]uint64{0x104, 0x105, 0x106, 0x107}, four...)...)
		wantEqual(t, published, got)
		if got.lost() > 0 {
			t.Errorf("lost %d", got.lost())
		}
		sub.do("end")
		pub.do("end")
	})
}

// changes is how often tags come and go.
func changes() int {
	if testkit.All() {
		return 1000
	}
	return 5
}
