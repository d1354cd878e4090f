// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// OfPublisher returns a collector of a publisher's counters.
//
//   - stats: the Stats method of a bus.Publisher. It is called once for each
//     scrape.
//   - Labels: the metrics of subscribers have name and host, as the subscribers have
//     given them, escaped where that is not safe to show. Those of queues and losses
//     have policy too, and losses have cause, which is full, memory or connection.
//     Subscribers with the same labels are one series: counters are sums, which never
//     fall when one of them leaves, and the gauges say what they are of. Only the info
//     metric has subscriber (the instance) and addr. Connections by backend have that.
//   - Series stay when the last subscriber with the labels has left, at most 1,024 of a
//     metric, those that were in use last. Gauges, except the number of connections,
//     go. A series that was dropped begins at 0 when it is back.
//   - What was sent on a connection and losses are seen with the scrapes. What was sent
//     after the last one counts too, unless the subscriber has connected again since.
//   - After Close of the publisher the last totals stay.
//   - Threads: any, also several scrapers. Blocks: never, but publishing goroutines and
//     scrapes wait for each other as with Stats.
func OfPublisher(stats func() bus.PublisherStats) prometheus.Collector {
	return collector[bus.PublisherStats]{
		stats: stats, metrics: publisherMetrics,
		losses: publisherLosses, lost: func(s *bus.PublisherStats) *bus.Losses { return &s.Losses },
		links: &subscriberLinks, linked: func(s *bus.PublisherStats) *bus.PublisherStats { return s }, peers: newPeers(),
		backends: publisherBackends,
	}
}

var (
	publisherLosses   = outgoingLosses(publisherRole)
	subscriberLinks   = linkMetrics(publisherRole)
	publisherBackends = newBackends(publisherRole)

	publisherMetrics = append(outgoingMetrics(publisherRole),
		counter("tagbus_publisher_strangers_total",
			"Connections that did not come from a tagbus program and were closed. If it grows, something scans the port or is configured for another service.",
			nil, func(s *bus.PublisherStats) uint64 { return s.Strangers }),
		state("tagbus_publisher_entry_failing",
			"1 while the entry in the bus directory cannot be renewed: new subscribers find an old one, or none. Look at the permissions and the space of the folder, or at the servers of the directory; the problem event has the cause.",
			func(s *bus.PublisherStats) bool { return s.EntryFailing }),
		gauge("tagbus_publisher_streams",
			"Different sets of subscribers that share pages now; each needs a page of its own. "+
				"If it grows towards MaxStreams, subscribers ask for many different sets of tags: let them ask for the same ranges.",
			nil, func(s *bus.PublisherStats) int { return s.Streams }),
	)
)
