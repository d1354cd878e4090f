// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/bus/metrics"
)

// peer returns the state of a subscriber with one lane.
func peer(instance, name, host string, port uint16, messages uint64, lane bus.LaneState) bus.SubscriberState {
	addr := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), port)
	return bus.SubscriberState{
		Peer:     bus.Peer{Instance: instance, Name: name, Host: host, Addr: addr},
		Since:    time.Unix(int64(port), 0),
		Messages: messages, Bytes: 100 * messages, Pages: messages,
		Lanes: []bus.LaneState{lane},
	}
}

// within returns the metrics of got that want names, so that a test can name some.
func within(got, want map[string]float64) map[string]float64 {
	some := maps.Clone(got)
	maps.DeleteFunc(some, func(name string, _ float64) bool { _, named := want[name]; return !named })
	return some
}

// TestPeersWithOneNameAndHost share their series.
func TestPeersWithOneNameAndHost(t *testing.T) {
	for _, name := range []string{"readout", ""} {
		t.Run(fmt.Sprintf("name %q", name), func(t *testing.T) {
			a := peer("a", name, "pc-07", 1, 10, bus.LaneState{Queued: 50, Limit: 1000, Unconfirmed: 3, Losses: bus.Losses{Full: 1}})
			a.SendsFree, a.MinSendsFree = 9, 2
			b := peer("b", name, "pc-07", 2, 20, bus.LaneState{Queued: 40, Limit: 100, Unconfirmed: 4, Losses: bus.Losses{Full: 2}})
			b.SendsFree, b.MinSendsFree = 8, 3
			other := peer("c", name, "pc-08", 3, 40, bus.LaneState{})
			got := gather(t, metrics.OfPublisher(func() bus.PublisherStats {
				return bus.PublisherStats{Subscribers: []bus.SubscriberState{a, b, other}}
			}))
			const p = "tagbus_publisher_subscriber_"
			labels := "{host=pc-07,name=" + name + "}"
			lane := "{host=pc-07,name=" + name + ",policy=block}"
			want := map[string]float64{
				p + "connections" + labels: 2, p + "sent_messages_total" + labels: 30, p + "sent_bytes_total" + labels: 3000,
				p + "free_sends" + labels: 8, p + "min_free_sends" + labels: 2,
				// The second one is fuller, though it holds less.
				p + "queued_bytes" + lane: 40, p + "queue_limit_bytes" + lane: 100, p + "unconfirmed_messages" + lane: 7,
				p + "lost_messages_total{cause=full,host=pc-07,name=" + name + ",policy=block}": 3,
				p + "info{addr=10.0.0.2:1,host=pc-07,name=" + name + ",subscriber=a}":           1,
				p + "info{addr=10.0.0.2:2,host=pc-07,name=" + name + ",subscriber=b}":           1,
				p + "sent_messages_total{host=pc-08,name=" + name + "}":                         40,
			}
			if diff := cmp.Diff(want, within(got, want)); diff != "" {
				t.Errorf("metrics differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCountersOfPeersNeverFall lets peers of few names come, work and go, some between
// two scrapes, and compares the counters with what has happened. A bus remembers some
// of those that have gone, and then counts from 0.
func TestCountersOfPeersNeverFall(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 0))
		var stats bus.PublisherStats
		c := metrics.OfPublisher(func() bus.PublisherStats { return stats })
		messages, lost := make(map[string]float64), make(map[string]float64)
		for port := uint16(1); port < 200; port++ {
			switch n := len(stats.Subscribers); {
			case n > 0 && random.IntN(4) == 0: // leave
				i := random.IntN(n)
				stats.Gone = append(stats.Gone, stats.Subscribers[i])
				stats.Subscribers = append(stats.Subscribers[:i:i], stats.Subscribers[i+1:]...)
				stats.Gone = stats.Gone[max(0, len(stats.Gone)-3):]
			case random.IntN(3) == 0 && len(stats.Gone) > 0: // return, with the same account
				gather(t, c)
				back := stats.Gone[0]
				stats.Gone = stats.Gone[1:]
				back = peer(back.Peer.Instance, back.Peer.Name, "h", port, 0, back.Lanes[0])
				stats.Subscribers = append(stats.Subscribers, back)
			case random.IntN(3) == 0: // come
				name := fmt.Sprint("n", random.IntN(4))
				stats.Subscribers = append(stats.Subscribers, peer(fmt.Sprint("instance ", port), name, "h", port, 0, bus.LaneState{}))
			case n > 0: // work
				s := &stats.Subscribers[random.IntN(n)]
				more := random.Uint64N(100)
				s.Messages, s.Pages = s.Messages+more, s.Pages+more
				lane := s.Lanes[0]
				lane.Losses.Full += more / 2
				s.Lanes = []bus.LaneState{lane}
				messages["tagbus_publisher_subscriber_sent_messages_total{host=h,name="+s.Peer.Name+"}"] += float64(more)
				lost["tagbus_publisher_subscriber_lost_messages_total{cause=full,host=h,name="+s.Peer.Name+",policy=block}"] += float64(more / 2)
			}
			if random.IntN(2) == 0 || len(stats.Gone) == 3 { // before one is forgotten
				got := gather(t, c)
				for _, want := range []map[string]float64{messages, lost} {
					if diff := cmp.Diff(want, within(got, want)); diff != "" {
						t.Fatalf("seed %d, step %d: counters differ (-want +got):\n%s", seed, port, diff)
					}
				}
			}
		}
	}
}

// TestAPeerThatConnectsAgainIsThereTwice until its old connection is forgotten. What was
// sent on that was counted twice.
func TestAPeerThatConnectsAgainIsThereTwice(t *testing.T) {
	var stats bus.PublisherStats
	c := metrics.OfPublisher(func() bus.PublisherStats { return stats })
	last, next := peer("a", "a", "h", 2, 10, bus.LaneState{}), peer("a", "a", "h", 1, 0, bus.LaneState{})
	type states = []bus.SubscriberState
	for i, now := range []bus.PublisherStats{
		{Subscribers: states{last}},
		{Subscribers: states{next, last}},
		{Subscribers: states{next, last}},
		{Subscribers: states{next}, Gone: states{last}}, // it has no subscription yet
		{Subscribers: states{next}, Gone: states{last}},
		{Subscribers: states{next}},
	} {
		stats = now
		if got := gather(t, c)["tagbus_publisher_subscriber_sent_messages_total{host=h,name=a}"]; got != 10 {
			t.Errorf("look %d: got %v messages, want 10", i, got)
		}
	}
}

// TestScrapersDoNotCountTwice: of two scrapes at once, the numbers of one are older.
func TestScrapersDoNotCountTwice(t *testing.T) {
	var clock atomic.Uint64
	c := metrics.OfPublisher(func() bus.PublisherStats {
		n := clock.Add(1)
		return bus.PublisherStats{Subscribers: []bus.SubscriberState{peer("a", "a", "h", 1, n, bus.LaneState{Losses: bus.Losses{Full: n}})}}
	})
	var scrapers sync.WaitGroup
	for range 2 {
		scrapers.Go(func() {
			for range 200 {
				gather(t, c)
			}
		})
	}
	scrapers.Wait()
	got := gather(t, c)
	want := float64(clock.Load())
	for _, name := range []string{
		"tagbus_publisher_subscriber_sent_messages_total{host=h,name=a}",
		"tagbus_publisher_subscriber_lost_messages_total{cause=full,host=h,name=a,policy=block}",
	} {
		if got[name] != want {
			t.Errorf("%s: got %v, want %v", name, got[name], want)
		}
	}
}
