// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/metrics"
	"tagbus/tags"
)

// A sender dials a receiver at the same address again and again: what was sent to it on
// the next connection was subtracted from what was sent on the last one, and the counters
// fell.
func TestWhatIsSentOnTheNextConnectionToAnAddressIsAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		_, leave := b.receiver("front end", tags.Of(1), func(bus.Message) {})
		s, stop := b.sender(bus.SenderConfig{Sending: bus.Sending{FlushInterval: time.Hour}})
		ofSender := metrics.OfSender(s.Stats)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(s.WaitReceivers(t.Context(), tags.Of(1)))
		labels := fmt.Sprintf(`{host="%s",name="front end"}`, s.Stats().Subscribers[0].Peer.Host)
		for range 100 { // in one page
			must(s.Send(1, nil))
		}
		s.Flush()
		synctest.Wait()
		const name = "tagbus_sender_receiver_sent_messages_total"
		compare(t, ofSender, name+labels+" 100")

		if n := b.net.Reset(netip.AddrPort{}, netip.AddrPort{}); n == 0 {
			t.Fatal("got no connection that was reset")
		}
		time.Sleep(time.Minute)
		for range 10 { // each in a page of its own
			must(s.Send(1, nil))
			s.Flush()
			synctest.Wait()
		}
		compare(t, ofSender, name+labels+" 110", "tagbus_sender_receiver_sent_pages_total"+labels+" 11")
		stop()
		leave()
	})
}

// A subscriber with two lanes of the same policy came back after a loss with one of them:
// what that had lost was counted again, and what the other had lost once more when the
// subscriber left.
func TestLossesOfLanesWithOnePolicyCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, stop := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000}})
		s, leave := b.subscriber("slow", tags.Of(3))
		host := netip.AddrPortFrom(b.host, 0)
		ofPublisher := metrics.OfPublisher(p.Stats)
		var subs []*bus.Subscription
		for tag := range tags.Tag(2) {
			sub, err := s.SubscribeWith(tags.Of(tag+1), func(bus.Message) {},
				bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropNewest}, BacklogBytes: 2048 * (int(tag) + 1)})
			if err != nil {
				t.Fatal(err)
			}
			if err := sub.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			subs = append(subs, sub)
		}
		b.net.SetWindow(netip.AddrPort{}, host, 1)
		b.net.Stall(netip.AddrPort{}, host)
		for range 20 {
			for tag := range tags.Tag(2) {
				if err := p.Publish(tag+1, make([]byte, 900)); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.net.Resume(netip.AddrPort{}, host)
		synctest.Wait()
		peer := p.Stats().Subscribers[0]
		lost := p.Stats().Losses.Full
		if lost == 0 || len(peer.Lanes) != 3 {
			t.Fatalf("got %d messages lost in %d lanes, want some in 3", lost, len(peer.Lanes))
		}
		series := fmt.Sprintf("tagbus_publisher_subscriber_lost_messages_total{cause=full,host=%s,name=slow,policy=drop-newest}", peer.Peer.Host)
		check := func(when string) {
			t.Helper()
			if got, want := gather(t, ofPublisher)[series], p.Stats().Losses.Full; got != float64(want) {
				t.Errorf("%s: got %v messages lost, want %d", when, got, want)
			}
		}
		check("with both lanes")
		if err := subs[0].Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		check("after the end of a subscription")
		b.net.Reset(netip.AddrPort{}, netip.AddrPort{})
		time.Sleep(time.Minute)
		if n := len(p.Stats().Subscribers[0].Lanes); n != 2 {
			t.Fatalf("got %d lanes, want 2", n)
		}
		check("with one lane")
		leave()
		synctest.Wait()
		check("without connection")
		stop()
	})
}
