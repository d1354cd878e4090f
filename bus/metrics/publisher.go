package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// publisher is the collector of a publisher.
type publisher struct{ stats func() bus.PublisherStats }

// OfPublisher returns a collector of a publisher's counters.
//
//   - stats: the Stats method of a bus.Publisher. It is called once for each
//     scrape and resets PublisherStats.MinPagesFree, which is no metric for that
//     reason: who reads it elsewhere reads the smallest since the last scrape.
//   - Labels: the metrics of each subscriber have subscriber (its instance),
//     name, host and addr, as it has given them, with the replacement character
//     (U+FFFD) for what is not UTF-8. There are never more such sets than
//     PublisherConfig.MaxSubscribers; they go when the subscriber goes, also
//     their counters.
//   - After Close of the publisher the last totals stay.
//   - Threads: any. Blocks: never, but publishing goroutines and scrapes wait
//     for each other as with Stats.
func OfPublisher(stats func() bus.PublisherStats) prometheus.Collector { return publisher{stats} }

// Describe implements prometheus.Collector.
func (p publisher) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, publisherMetrics)
	describe(ch, linkMetrics)
}

// Collect implements prometheus.Collector.
func (p publisher) Collect(ch chan<- prometheus.Metric) {
	st := p.stats()
	collect(ch, publisherMetrics, &st)
	for i := range st.Subscribers {
		s := &st.Subscribers[i]
		collect(ch, linkMetrics, s, text(s.Peer.Instance), text(s.Peer.Name), text(s.Peer.Host), s.Peer.Addr.String())
	}
}

// text makes what a peer says about itself a label: other bytes than UTF-8
// would spoil the whole scrape.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

var publisherMetrics = []metric[bus.PublisherStats]{
	counter("tagbus_publisher_messages_total",
		"Messages accepted by Publish, subscribed to or not. If it stands still while the detector sends, look at refusals and queued pages.",
		nil, func(s *bus.PublisherStats) uint64 { return s.Messages }),
	counter("tagbus_publisher_payload_bytes_total",
		"Payload of the accepted messages. Compare it with what the detector should send.",
		nil, func(s *bus.PublisherStats) uint64 { return s.Bytes }),
	counter("tagbus_publisher_refusals_total",
		"Times that Publish found no room and accepted the message for nobody; a publishing program tries again, so this is not loss. "+
			"If it grows, subscribers are too slow: find those whose queued pages are at their limit, or raise the pool if free pages are at 0.",
		nil, func(s *bus.PublisherStats) uint64 { return s.Refusals }),
	counter("tagbus_publisher_undelivered_messages_total",
		"Messages that were dropped because the connection of their subscriber ended, counted for each subscriber. "+
			"If it grows, subscribers die or are cut off under load: look into their logs and at the network.",
		nil, func(s *bus.PublisherStats) uint64 { return s.Undelivered }),
	counter("tagbus_publisher_strangers_total",
		"Connections that did not come from a tagbus program and were closed. If it grows, something scans the port or is configured for another service.",
		nil, func(s *bus.PublisherStats) uint64 { return s.Strangers }),
	counter("tagbus_publisher_replayed_messages_total",
		"Messages sent from the cache to subscribers that came late or had lost their connection.",
		nil, func(s *bus.PublisherStats) uint64 { return s.Replayed }),
	gauge("tagbus_publisher_cached_messages",
		"Messages in the cache.",
		nil, func(s *bus.PublisherStats) int { return s.Cached }),
	gauge("tagbus_publisher_cached_bytes",
		"Memory that these take. At CacheBytes the oldest go before a tag has as many as it may.",
		nil, func(s *bus.PublisherStats) int { return s.CachedBytes }),
	gauge("tagbus_publisher_subscribers",
		"Subscribers connected now. If it falls below what the run needs, start them again.",
		nil, func(s *bus.PublisherStats) int { return len(s.Subscribers) }),
	gauge("tagbus_publisher_streams",
		"Different sets of subscribers that share pages now; each needs a page of its own. "+
			"If it grows towards MaxStreams, subscribers ask for many different sets of tags: let them ask for the same ranges.",
		nil, func(s *bus.PublisherStats) int { return s.Streams }),
	gauge("tagbus_publisher_pool_pages",
		"Pages in the pool, free or not: PoolBytes by PageBytes. It never changes.",
		nil, func(s *bus.PublisherStats) int { return s.Pages }),
	gauge("tagbus_publisher_pool_free_pages",
		"Free pages in the pool. At 0 nobody can publish: raise PoolBytes, or lower QueueBytes so that slow subscribers hold less.",
		nil, func(s *bus.PublisherStats) int { return s.PagesFree }),
}

// linkLabels name a subscriber of a publisher. None is called instance, because
// that is Prometheus's name for who was scraped.
var linkLabels = []string{"subscriber", "name", "host", "addr"}

var linkMetrics = []metric[bus.SubscriberState]{
	gauge("tagbus_publisher_subscriber_queued_pages",
		"Pages that this subscriber holds: reserved, queued or being sent. At its limit it blocks the publishing of its tags: speed it up, or raise QueueBytes if it is only bursts.",
		linkLabels, func(s *bus.SubscriberState) int { return s.Queued }),
	gauge("tagbus_publisher_subscriber_queue_limit_pages",
		"Pages that this subscriber may hold: QueueBytes by PageBytes. It never changes.",
		linkLabels, func(s *bus.SubscriberState) int { return s.Limit }),
	counter("tagbus_publisher_subscriber_sent_messages_total",
		"Messages handed whole to the transport for this subscriber since it connected. If it stands still while queued pages do not fall, the subscriber has stopped reading.",
		linkLabels, func(s *bus.SubscriberState) uint64 { return s.Messages }),
	counter("tagbus_publisher_subscriber_sent_bytes_total",
		"Bytes of the pages sent to this subscriber since it connected, with their headers. Compare its rate with that of the link.",
		linkLabels, func(s *bus.SubscriberState) uint64 { return s.Bytes }),
	counter("tagbus_publisher_subscriber_sent_pages_total",
		"Pages sent to this subscriber since it connected. If it grows nearly as fast as the messages, pages go out nearly empty: raise FlushInterval.",
		linkLabels, func(s *bus.SubscriberState) uint64 { return s.Pages }),
}
