package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// publisher is the collector of a publisher.
type publisher struct{ stats func() bus.PublisherStats }

// OfPublisher returns a collector of a publisher's counters.
//
//   - stats: the Stats method of a bus.Publisher. It is called once for each
//     scrape. The metrics with min in their name are the smallest since the call
//     before, so give them one reader: a second scraper, or a program that calls
//     Stats too, takes a part of the time from the first.
//   - Labels: the metrics of each subscriber have subscriber (its instance),
//     name, host and addr, as it has given them, with the replacement character
//     (U+FFFD) for what is not UTF-8. There are never more such sets than
//     PublisherConfig.MaxSubscribers; they go when the subscriber goes, also
//     their counters. Those of its room and its losses have policy too: at most
//     16 for each subscriber, mostly one. Losses have cause, which is full,
//     memory or connection.
//   - After Close of the publisher the last totals stay.
//   - Threads: any. Blocks: never, but publishing goroutines and scrapes wait
//     for each other as with Stats.
func OfPublisher(stats func() bus.PublisherStats) prometheus.Collector { return publisher{stats} }

// Describe implements prometheus.Collector.
func (p publisher) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, publisherMetrics)
	publisherLosses.describe(ch)
	subscriberLinks.describe(ch)
}

// Collect implements prometheus.Collector.
func (p publisher) Collect(ch chan<- prometheus.Metric) {
	st := p.stats()
	collect(ch, publisherMetrics, &st)
	publisherLosses.collect(ch, &st.Losses)
	subscriberLinks.collect(ch, st.Subscribers)
}

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
	gauge("tagbus_publisher_unconfirmed_messages",
		"Messages of connections that have ended, sent or dropped, of which the subscriber has not said what became of them, counted for each subscriber. It falls when one is back and tells. "+
			"If it grows, subscribers die or are cut off under load: look into their logs and at the network.",
		nil, func(s *bus.PublisherStats) int { return int(s.Unconfirmed) }),
	counter("tagbus_publisher_strangers_total",
		"Connections that did not come from a tagbus program and were closed. If it grows, something scans the port or is configured for another service.",
		nil, func(s *bus.PublisherStats) uint64 { return s.Strangers }),
	counter("tagbus_publisher_silent_subscribers_total",
		"Connections closed because nothing was heard of the subscriber for a heartbeat timeout. If it grows, hosts or networks fail, or subscribers are stopped: the lost events name them.",
		nil, func(s *bus.PublisherStats) uint64 { return s.Silent }),
	counter("tagbus_publisher_stalled_subscribers_total",
		"Connections closed because the subscriber took nothing for as long as its policy or MaxStall allows. If it grows, subscribers hang: the lost events name them.",
		nil, func(s *bus.PublisherStats) uint64 { return s.Stalled }),
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
	gauge("tagbus_publisher_pool_min_free_pages",
		"Fewest free pages since the last scrape. 0 means that publishing stood still, or nearly, for want of a page at some time since, even if there are enough now: raise PoolBytes, or lower QueueBytes.",
		nil, func(s *bus.PublisherStats) int { return s.MinPagesFree }),
	gauge("tagbus_publisher_cached_messages",
		"Messages in the cache for late and returning subscribers.",
		nil, func(s *bus.PublisherStats) int { return s.Cached }),
	gauge("tagbus_publisher_cached_bytes",
		"Memory of the cache in use. At CacheBytes it keeps fewer messages of a tag than CacheMessages says: raise CacheBytes.",
		nil, func(s *bus.PublisherStats) int { return s.CachedBytes }),
	counter("tagbus_publisher_replayed_messages_total",
		"Messages sent from the cache, counted for each subscriber. If it grows all the time, connections are lost again and again.",
		nil, func(s *bus.PublisherStats) uint64 { return s.Replayed }),
}

// linkLabels name a subscriber of a publisher. None is called instance, because
// that is Prometheus's name for the process that is scraped.
var linkLabels = []string{"subscriber", "name", "host", "addr"}

// laneLabels name the subscriptions of a subscriber that have one policy.
var laneLabels = append(slices.Clone(linkLabels), "policy")

var laneMetrics = []metric[bus.LaneState]{
	gauge("tagbus_publisher_subscriber_queued_pages",
		"Pages that this subscriber holds: reserved, queued or being sent. At its limit it blocks the publishing of its tags, or loses messages, as its policy says: speed it up, or raise QueueBytes if it is only bursts.",
		laneLabels, func(s *bus.LaneState) int { return s.Queued }),
	gauge("tagbus_publisher_subscriber_queue_limit_pages",
		"Pages that this subscriber may hold: QueueBytes by PageBytes, or the less that it has asked for. It never changes.",
		laneLabels, func(s *bus.LaneState) int { return s.Limit }),
	gauge("tagbus_publisher_subscriber_unconfirmed_messages",
		"Messages of earlier connections of which this subscriber has not said what became of them. It is 0 as soon as it has told, mostly at once.",
		laneLabels, func(s *bus.LaneState) int { return int(s.Unconfirmed) }),
}

var publisherLosses = newLosses("tagbus_publisher",
	"Messages that subscribers did not get, counted for each, also of those that are gone. Full: they were slower than the publisher. Memory: the lossy ones together held half of the pool: raise it. Connection: they were lost with a connection, which subscribers tell when they are back.",
	"Messages that the policies latest and sample have left out on purpose, counted for each subscriber.",
	publisherCauses)

var subscriberLinks = links{
	each:  linkMetrics,
	lanes: laneMetrics,
	losses: newLosses("tagbus_publisher_subscriber",
		"Messages that this subscriber did not get since it first connected; it counts the same itself. Full: it is slower than the publisher. Memory: raise the pool. Connection: look at the network.",
		"Messages that the policy has left out on purpose since this subscriber first connected.",
		publisherCauses, laneLabels...),
}

var linkMetrics = []metric[bus.SubscriberState]{
	counter("tagbus_publisher_subscriber_sent_messages_total",
		"Messages handed whole to the transport for this subscriber since it connected. If it stands still while queued pages do not fall, the subscriber has stopped reading.",
		linkLabels, func(s *bus.SubscriberState) uint64 { return s.Messages }),
	counter("tagbus_publisher_subscriber_sent_bytes_total",
		"Bytes of the pages sent to this subscriber since it connected, with their headers. Compare its rate with that of the link.",
		linkLabels, func(s *bus.SubscriberState) uint64 { return s.Bytes }),
	counter("tagbus_publisher_subscriber_sent_pages_total",
		"Pages sent to this subscriber since it connected. If it grows nearly as fast as the messages, pages go out nearly empty: raise FlushInterval.",
		linkLabels, func(s *bus.SubscriberState) uint64 { return s.Pages }),
	gauge("tagbus_publisher_subscriber_free_sends",
		"Pages that the connection to this subscriber would take at once. 0 means that many small pages are under way and the next wait in the publisher: "+
			"if queued pages grow too, the subscriber or the network is slow; if not, raise FlushInterval for fuller pages.",
		linkLabels, func(s *bus.SubscriberState) int { return s.SendsFree }),
	gauge("tagbus_publisher_subscriber_min_free_sends",
		"Fewest free sends of this subscriber since the last scrape. 0 means that pages had to wait, or nearly, at some time since, even if all have gone out by now: a burst. Only if it stays at 0 there is something to do; see free sends.",
		linkLabels, func(s *bus.SubscriberState) int { return s.MinSendsFree }),
}
