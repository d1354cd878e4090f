// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// OfSender returns a collector of a sender's counters.
//
//   - stats: the Stats method of a bus.Sender; see OfPublisher.
//   - Labels: as OfPublisher says of subscribers; the instance of a receiver is called
//     receiver. A sender dials them itself, and only those whose tags it uses.
//   - After Close of the sender the last totals stay.
//   - Threads: any, also several scrapers. Blocks: never, but sending goroutines and
//     scrapes wait for each other as with Stats.
func OfSender(stats func() bus.SenderStats) prometheus.Collector {
	return collector[bus.SenderStats]{
		stats: stats, metrics: senderMetrics,
		losses: senderLosses, lost: func(s *bus.SenderStats) *bus.Losses { return &s.Losses },
		links: &receiverLinks, linked: func(s *bus.SenderStats) *bus.PublisherStats { return &s.PublisherStats }, peers: newPeers(),
		backends: senderBackends,
	}
}

var (
	senderLosses   = outgoingLosses(senderRole)
	receiverLinks  = linkMetrics(senderRole)
	senderBackends = newBackends(senderRole)

	senderMetrics = append(ofPart(outgoingMetrics(senderRole), func(s *bus.SenderStats) *bus.PublisherStats { return &s.PublisherStats }),
		counter("tagbus_sender_no_receiver_total",
			"Times that a message was refused because no receiver that is connected owns its tag. If it grows, look whether the receivers run, and whether both sides name the same bus directory.",
			nil, func(s *bus.SenderStats) uint64 { return s.NoReceiver }),
		counter("tagbus_sender_acked_messages_total",
			"Messages of which SendAcked knows that a receiver has handled them.",
			nil, func(s *bus.SenderStats) uint64 { return s.Acked }),
		counter("tagbus_sender_unacked_messages_total",
			"Messages that were accepted and for which SendAcked has failed: each may or may not have been handled. If it grows, look at the lost connections, the policy of the receivers, their panics, and the deadlines of the program.",
			nil, func(s *bus.SenderStats) uint64 { return s.Unacked }),
	)
)
