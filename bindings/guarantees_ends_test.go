// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"slices"
	"testing"

	"tagbus/bus"
)

// TestGuarantees_restart: a publisher ends in order and another one begins, and the subscriber follows
// with equal counts.
func TestGuarantees_restart(t *testing.T) {
	eachPair(t, 0, func(t *testing.T, p pair) {
		folder := folder(t)
		sub := p.subscriber.drive(t, folder)
		sub.do("subscriber -", "thread 0x100-0x103 --policy block")
		all := map[uint64]uint64{}
		for i := range uint64(3) {
			pub := p.publisher.drive(t, folder)
			pub.do("publisher 0x100-0x103", "wait 1", "publish 0x100 0x103 10000", "drain")
			for tag, n := range pub.account().Published {
				all[tag] += n
			}
			pub.do("end")
			sub.do("until goodbye " + text(i+1))
		}
		sub.do("until messages " + text(sum(all))) // which wait for the program, and events do not
		got := sub.account()
		wantAll(t, all, got, four...)
		if got.lost() != 0 || got.Events["vanished"] != 0 || got.Events["goodbye"] != 3 {
			t.Errorf("lost %d, with the events %v", got.lost(), got.Events)
		}
		sub.do("end")
	})
}

// TestGuarantees_aSubscriberIsKilled: beside another one, under a flood. The publisher goes on, the other one
// loses nothing, and there is a seat for the next one.
func TestGuarantees_aSubscriberIsKilled(t *testing.T) {
	eachPair(t, 0, func(t *testing.T, p pair) {
		folder := folder(t)
		seats := ""
		if p.publisher.name == "go" {
			seats = " --max-subscribers 2"
		}
		pub, other := p.publisher.drive(t, folder), kinds(t)["go"].drive(t, folder)
		pub.do("publisher 0x100-0x103" + seats)
		other.do("subscriber -", "thread 0x100-0x103 --policy block", "acknowledged")
		victims := []*peer{}
		pub.do("wait 1", "flood 0x100 0x103")
		for range 2 {
			victim := p.subscriber.drive(t, folder)
			victim.do("subscriber - --queue-bytes 65536", "pull 0x100-0x103 --policy block", "acknowledged", "until got 1000")
			wantOrder(t, victim.account())
			if len(victims) == 1 { // one is killed as it waits for more, and one as it holds up the publisher
				victim.do("hold")
				pub.awaits(func(a account) bool {
					return slices.ContainsFunc(a.Publisher.Subscribers, func(s bus.SubscriberState) bool {
						return s.Peer.PID == victim.cmd.Process.Pid && s.Queued > s.Limit/2
					})
				})
			}
			victim.kill()
			got := other.account().got()
			other.do("until got " + text(got+1000)) // the publisher goes on
			victims = append(victims, victim)
		}
		pub.awaits(func(a account) bool { return len(a.Publisher.Gone) == len(victims) })
		pub.do("stop")
		pub.say("drain")
		_, _ = pub.out.ReadString('\n') // the killed ones have not confirmed all
		published := pub.account()
		other.do("until messages " + text(sum(published.Published)))
		got := other.account()
		wantAll(t, published.Published, got, four...)
		if got.lost() > 0 || got.Events["lost"] > 0 {
			t.Errorf("the other one has lost %d messages, with the events %v", got.lost(), got.Events)
		}
		if n := published.Publisher.Broken; n != uint64(len(victims)) {
			t.Errorf("%d broken connections, want %d", n, len(victims))
		}
		other.do("end")
		pub.do("end")
	})
}

// TestGuarantees_aPublisherIsKilled: under a flood. The subscriber has what came whole and in order, says that
// the publisher is lost at once, and that it has vanished when the directory gives it up; it follows another one.
func TestGuarantees_aPublisherIsKilled(t *testing.T) {
	eachPair(t, 1, func(t *testing.T, p pair) {
		folder := folder(t)
		pub, sub := p.publisher.drive(t, folder), p.subscriber.drive(t, folder)
		pub.do("publisher 0x100-0x103")
		sub.do("subscriber -", "pull 0x100-0x103 --policy block", "acknowledged")
		pub.do("wait 1", "flood 0x100 0x103")
		sub.do("until got 1000")
		pub.kill()
		sub.do("until lost 1")
		next := p.publisher.drive(t, folder)
		next.do("publisher 0x100-0x103", "wait 1", "publish 0x100 0x103 10000", "drain")
		published := next.account()
		next.do("end")
		sub.do("until goodbye 1", "until vanished 1")
		got := sub.caughtUp()
		wantOrder(t, got)
		for _, tag := range four {
			if r := got.Tags[tag]; r == nil || r.First != 1 || r.Last != published.Published[tag] || r.Got < r.Last+1 {
				t.Errorf("tag %#x: got %+v, want all from 1 on, and %d of the next one", tag, r, published.Published[tag])
			}
		}
		if got.lost() > 0 || got.Events["vanished"] != 1 || got.Events["goodbye"] != 1 || got.got() != got.Subscriber.Messages || got.Subscriber.Broken < 1 {
			t.Errorf("lost %d, with the events %v: %+v", got.lost(), got.Events, got.Subscriber)
		}
		sub.do("end")
	})
}
