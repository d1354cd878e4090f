// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// OfReceiver returns a collector of a receiver's counters.
//
//   - stats: the Stats method of a bus.Receiver. It is called once for each
//     scrape.
//   - Labels: lost messages have cause, as those of OfSubscriber.
//   - After Close of the receiver the last totals stay.
//   - Threads: any. Blocks: never.
func OfReceiver(stats func() bus.SubscriberStats) prometheus.Collector {
	return collector[bus.SubscriberStats]{
		stats: stats, metrics: receiverMetrics,
		losses: receiverLosses, lost: func(s *bus.SubscriberStats) *bus.Losses { return &s.Losses },
		backends: receiverBackends, byBackend: func(s *bus.SubscriberStats) []bus.BackendCount { return s.ByBackend },
	}
}

var (
	receiverMetrics = append(incomingMetrics(receiverRole),
		state("tagbus_receiver_entry_failing",
			"1 while the entry in the bus directory cannot be renewed: new senders find an old one, or none. Look at the permissions and the space of the folder, or at the servers of the directory; the problem event has the cause.",
			func(s *bus.SubscriberStats) bool { return s.EntryFailing }),
	)
	receiverLosses   = incomingLosses(receiverRole)
	receiverBackends = newBackends(receiverRole)
)
