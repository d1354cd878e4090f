// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

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
func OfPublisher(stats func() bus.PublisherStats) prometheus.Collector {
	return collector[bus.PublisherStats]{
		stats: stats, metrics: publisherMetrics,
		losses: publisherLosses, lost: func(s *bus.PublisherStats) *bus.Losses { return &s.Losses },
		links: subscriberLinks, linked: func(s *bus.PublisherStats) []bus.SubscriberState { return s.Subscribers },
	}
}

var (
	publisherLosses = outgoingLosses(publisherRole)
	subscriberLinks = linkMetrics(publisherRole)

	publisherMetrics = append(outgoingMetrics(publisherRole),
		counter("tagbus_publisher_strangers_total",
			"Connections that did not come from a tagbus program and were closed. If it grows, something scans the port or is configured for another service.",
			nil, func(s *bus.PublisherStats) uint64 { return s.Strangers }),
		gauge("tagbus_publisher_streams",
			"Different sets of subscribers that share pages now; each needs a page of its own. "+
				"If it grows towards MaxStreams, subscribers ask for many different sets of tags: let them ask for the same ranges.",
			nil, func(s *bus.PublisherStats) int { return s.Streams }),
	)
)
