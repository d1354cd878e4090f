// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/bus/metrics"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// bed is a bus in memory.
type bed struct {
	tb   testing.TB
	net  *memnet.Network
	dir  *memory.Directory
	host netip.Addr
}

func newBed(tb testing.TB) *bed {
	tb.Helper()
	return &bed{tb, memnet.New(), memory.New(), netip.MustParseAddr("10.0.0.0")}
}

// publisher opens a publisher on a host of its own. stop closes it.
func (b *bed) publisher(cfg bus.PublisherConfig) (p *bus.Publisher, stop func()) {
	b.tb.Helper()
	b.host = b.host.Next()
	loop := memnet.NewLoop()
	cfg.Listen = netip.AddrPortFrom(b.host, 0)
	p, err := bus.NewPublisher(b.net.Opener(loop, memnet.Config{Host: b.host}), b.dir, cfg)
	if err != nil {
		b.tb.Fatal(err)
	}
	return p, func() {
		if err := p.Close(); err != nil {
			b.tb.Errorf("close publisher: %v", err)
		}
		loop.Close()
	}
}

// subscriber opens a subscriber on a host of its own, which subscribes to set.
// stop closes it.
func (b *bed) subscriber(name string, set tags.Set) (s *bus.Subscriber, stop func()) {
	b.tb.Helper()
	b.host = b.host.Next()
	loop := memnet.NewLoop()
	s, err := bus.NewSubscriber(b.net.Opener(loop, memnet.Config{Host: b.host}), b.dir, bus.SubscriberConfig{Common: bus.Common{Name: name}})
	if err != nil {
		b.tb.Fatal(err)
	}
	sub, err := s.Subscribe(set, func(bus.Message) {})
	if err != nil {
		b.tb.Fatal(err)
	}
	if err := sub.Wait(context.Background()); err != nil {
		b.tb.Fatal(err)
	}
	return s, func() {
		if err := s.Close(); err != nil {
			b.tb.Errorf("close subscriber: %v", err)
		}
		loop.Close()
	}
}

// compare collects the metrics that the lines name, and compares them with the
// lines, each `NAME{LABELS} VALUE`.
func compare(t *testing.T, c prometheus.Collector, lines ...string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	var names []string
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "{")
		seen := slices.Contains(names, name)
		names = append(names, name)
		for _, f := range families {
			if f.GetName() == name && !seen {
				fmt.Fprintf(&want, "# HELP %s %s\n# TYPE %s %s\n", name, f.GetHelp(), name, strings.ToLower(f.GetType().String()))
			}
		}
		fmt.Fprintln(&want, line)
	}
	if err := testutil.CollectAndCompare(c, strings.NewReader(want.String()), names...); err != nil {
		t.Error(err)
	}
}

func TestMetricsOfABus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, stop := b.publisher(bus.PublisherConfig{
			Sending: bus.Sending{
				FlushInterval: time.Millisecond, // one page
				PageBytes:     1024, MaxMessageBytes: 1000, QueueBytes: 8 << 10, PoolBytes: 64 << 10,
			},
			Tags: tags.Of(1, 2),
		})
		s, leave := b.subscriber("readout", tags.Of(1))
		ofPublisher, ofSubscriber := metrics.OfPublisher(p.Stats), metrics.OfSubscriber(s.Stats)
		for _, tag := range []tags.Tag{1, 1, 1, 2} {
			if err := p.Publish(tag, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		p.Flush()
		synctest.Wait()
		peer := p.Stats().Subscribers[0].Peer
		labels := fmt.Sprintf(`{host="%s",name="readout"}`, peer.Host)
		lane := fmt.Sprintf(`{host="%s",name="readout",policy="block"}`, peer.Host)
		compare(t, ofPublisher,
			"tagbus_publisher_messages_total 4",
			"tagbus_publisher_payload_bytes_total 400",
			"tagbus_publisher_refusals_total 0",
			"tagbus_publisher_unconfirmed_messages 0",
			"tagbus_publisher_subscribers 1",
			"tagbus_publisher_streams 1",
			"tagbus_publisher_pool_pages 64",
			"tagbus_publisher_pool_free_pages 64",
			"tagbus_publisher_subscriber_queued_bytes"+lane+" 0",
			"tagbus_publisher_subscriber_queue_limit_bytes"+lane+" 8192",
			"tagbus_publisher_subscriber_sent_messages_total"+labels+" 3",
			"tagbus_publisher_subscriber_sent_pages_total"+labels+" 1",
			"tagbus_publisher_subscriber_free_sends"+labels+" 64",
		)
		compare(t, ofSubscriber,
			"tagbus_subscriber_publishers 1",
			"tagbus_subscriber_messages_total 3",
			"tagbus_subscriber_payload_bytes_total 300",
			"tagbus_subscriber_pages_total 1",
			`tagbus_subscriber_lost_messages_total{cause="connection"} 0`,
			`tagbus_subscriber_lost_messages_total{cause="ended"} 0`,
			`tagbus_subscriber_lost_messages_total{cause="full"} 0`,
			`tagbus_subscriber_lost_messages_total{cause="memory"} 0`,
		)
		leave()
		synctest.Wait()
		if n := testutil.CollectAndCount(ofPublisher, "tagbus_publisher_subscriber_queued_bytes", "tagbus_publisher_subscriber_info"); n != 0 {
			t.Errorf("got %d gauges of a subscriber that left, want none", n)
		}
		compare(t, ofPublisher, "tagbus_publisher_subscriber_connections"+labels+" 0", "tagbus_publisher_subscriber_sent_messages_total"+labels+" 3")
		stop()
		compare(t, ofPublisher, "tagbus_publisher_messages_total 4", "tagbus_publisher_subscribers 0")
		compare(t, ofSubscriber, "tagbus_subscriber_messages_total 3", "tagbus_subscriber_publishers 0")
	})
}

func TestASlowSubscriberShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, stop := b.publisher(bus.PublisherConfig{
			Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: 8 << 10, PoolBytes: 64 << 10},
		})
		defer stop()
		_, leave := b.subscriber("slow", tags.Of(1))
		peer := p.Stats().Subscribers[0].Peer
		b.net.SetWindow(p.Addr(), peer.Addr, 1)
		b.net.Stall(p.Addr(), peer.Addr)
		published := 0
		for err := error(nil); err == nil; published++ {
			if err = p.Publish(1, make([]byte, 900)); err != nil && !errors.Is(err, bus.ErrNoResources) {
				t.Fatal(err)
			}
		}
		published--
		labels := fmt.Sprintf(`{host="%s",name="slow"}`, peer.Host)
		lane := fmt.Sprintf(`{host="%s",name="slow",policy="block"}`, peer.Host)
		c := metrics.OfPublisher(p.Stats)
		compare(t, c,
			fmt.Sprintf("tagbus_publisher_messages_total %d", published),
			"tagbus_publisher_refusals_total 1",
			"tagbus_publisher_pool_free_pages 56",
			"tagbus_publisher_subscriber_queued_bytes"+lane+" 7360",
			"tagbus_publisher_subscriber_queue_limit_bytes"+lane+" 8192",
			"tagbus_publisher_subscriber_sent_messages_total"+labels+" 0",
			"tagbus_publisher_subscriber_free_sends"+labels+" 59", // 4 KiB of 64 pages are under way
		)
		b.net.Reset(p.Addr(), peer.Addr)
		synctest.Wait()
		compare(t, c,
			fmt.Sprintf("tagbus_publisher_unconfirmed_messages %d", published),
			"tagbus_publisher_pool_free_pages 64",
		)
		leave()
	})
}
