// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// OfSubscriber returns a collector of a subscriber's counters.
//
//   - stats: the Stats method of a bus.Subscriber. It is called once for each
//     scrape.
//   - Labels: lost messages have cause, which is full, memory, connection or
//     ended. Connections by backend have that.
//   - After Close of the subscriber the last totals stay.
//   - Threads: any. Blocks: never.
func OfSubscriber(stats func() bus.SubscriberStats) prometheus.Collector {
	return collector[bus.SubscriberStats]{
		stats: stats, metrics: subscriberMetrics,
		losses: subscriberLosses, lost: func(s *bus.SubscriberStats) *bus.Losses { return &s.Losses },
		backends: subscriberBackends, byBackend: func(s *bus.SubscriberStats) []bus.BackendCount { return s.ByBackend },
	}
}

var (
	subscriberMetrics  = incomingMetrics(subscriberRole)
	subscriberLosses   = incomingLosses(subscriberRole)
	subscriberBackends = newBackends(subscriberRole)
)
