// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"net/netip"
	"os"
	"strconv"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/cut"
)

// TestGuarantees_cuts: the connection is cut again and again under a flood, and each message came or was
// said to be lost.
func TestGuarantees_cuts(t *testing.T) {
	eachPair(t, 0, func(t *testing.T, p pair) {
		pub, sub, proxy := overProxy(t, p)
		pub.do("flood 0x100 0x103")
		for i := range uint64(3) {
			sub.do("until got " + text(1000*(i+1)))
			proxy.Cut()
			sub.do("until resubscribed " + text(i+1))
		}
		pub.do("stop")
		wantSettled(t, pub, sub)
	})
}

// TestGuarantees_longCuts is TestGuarantees_cuts with a hundred million messages from and to each language.
// TAGBUS_TEST_MESSAGES is another number of them.
func TestGuarantees_longCuts(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	n := uint64(100_000_000)
	if text := os.Getenv("TAGBUS_TEST_MESSAGES"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	const cuts = 20 // a subscriber that is cut off often takes its time to connect again
	eachPair(t, 0, func(t *testing.T, p pair) {
		pub, sub, proxy := overProxy(t, p)
		for i := range uint64(cuts) {
			before := sub.account().got()
			pub.say("publish 0x100 0x103 " + text(n/cuts))
			sub.do("until got " + text(before+n/cuts/2))
			proxy.Cut()
			sub.do("until resubscribed " + text(i+1))
			if did := pub.ok(); did != n/cuts {
				t.Errorf("published %d of %d", did, n/cuts)
			}
		}
		lost := wantSettled(t, pub, sub)
		t.Logf("%v: of %d messages %d were said to be lost, with %d cuts", p, n, lost, cuts)
	})
}

// overProxy starts a pair between which a connection can be cut.
func overProxy(t *testing.T, p pair) (pub, sub *peer, proxy *cut.Proxy) {
	t.Helper()
	folder := folder(t)
	proxy = cut.New(t)
	at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), proxy.Addr().Port()) // where no other program listens
	proxy.Serve(at.String())
	const overTCP = "--backend tcp" // which the proxy is for
	pub, sub = p.publisher.drive(t, folder, overTCP), p.subscriber.drive(t, folder, overTCP)
	pub.do("publisher 0x100-0x103 --listen " + at.String() + " --advertise " + proxy.Addr().String())
	sub.do("subscriber - --queue-bytes 65536", "pull 0x100-0x103 --policy block", "acknowledged")
	pub.do("wait 1")
	return pub, sub, proxy
}

// wantSettled ends a pair, of which each message came or was said to be lost, and returns how many were.
func wantSettled(t *testing.T, pub, sub *peer) (lost uint64) {
	t.Helper()
	pub.do("wait 1", "publish 0x100 0x103 8", "drain")
	published := pub.account()
	sub.do("until messages " + text(sum(published.Published)))
	got := sub.account()
	wantAll(t, published.Published, got, four...)
	wantEqual(t, published, got)
	sub.do("end")
	pub.do("end")
	return got.lost()
}
