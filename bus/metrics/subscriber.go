package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// subscriber is the collector of a subscriber.
type subscriber struct{ stats func() bus.SubscriberStats }

// OfSubscriber returns a collector of a subscriber's counters.
//
//   - stats: the Stats method of a bus.Subscriber. It is called once for each
//     scrape.
//   - Labels: lost messages have cause, which is full, memory, connection or
//     ended.
//   - After Close of the subscriber the last totals stay.
//   - Threads: any. Blocks: never.
func OfSubscriber(stats func() bus.SubscriberStats) prometheus.Collector { return subscriber{stats} }

// Describe implements prometheus.Collector.
func (s subscriber) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, subscriberMetrics)
	subscriberLosses.describe(ch)
}

// Collect implements prometheus.Collector.
func (s subscriber) Collect(ch chan<- prometheus.Metric) {
	st := s.stats()
	collect(ch, subscriberMetrics, &st)
	subscriberLosses.collect(ch, &st.Losses)
}

var subscriberLosses = newLosses("tagbus_subscriber",
	"Messages that were published for this subscriber and did not arrive, as reported by gaps, which name the tags. "+
		"Full: it is slower than the publisher, and its policy loses messages. Memory: publishers need a larger pool. Connection: look at the network. Ended: missing at a publisher's end without a reason, which is an error of the bus.",
	"Messages that the policies latest and sample have left out on purpose.",
	subscriberCauses)

var subscriberMetrics = append(retainMetrics("tagbus_subscriber"), []metric[bus.SubscriberStats]{
	gauge("tagbus_subscriber_publishers",
		"Publishers connected now. If it falls below what the run needs, look whether they run, and whether both sides name the same bus directory.",
		nil, func(s *bus.SubscriberStats) int { return s.Publishers }),
	counter("tagbus_subscriber_messages_total",
		"Messages received for a subscription. If it stands still, look whether publishers are connected, and whether they publish.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Messages }),
	counter("tagbus_subscriber_payload_bytes_total",
		"Payload of the received messages.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Bytes }),
	counter("tagbus_subscriber_pages_total",
		"Pages received. If it grows nearly as fast as the messages, pages come nearly empty: raise FlushInterval at the publishers.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Pages }),
	counter("tagbus_subscriber_overflowed_messages_total",
		"Messages received and lost again, because they were read too slowly: the queue of a subscription without handler was full, and its policy loses messages. Read faster, or raise QueueBytes.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Overflowed }),
	counter("tagbus_subscriber_unwanted_messages_total",
		"Messages that arrived after their subscription was closed here. Some are normal; if it grows for long, subscriptions come and go too often.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Unwanted }),
	counter("tagbus_subscriber_silent_publishers_total",
		"Connections closed because nothing was heard of the publisher for a heartbeat timeout. If it grows, hosts or networks fail, or publishers are stopped: the lost events name them.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Silent }),
	counter("tagbus_subscriber_panics_total",
		"Calls of a message handler that panicked. If it grows, the program has an error: its problem events have the cause.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Panics }),
}...)

// retainMetrics are those of what the user of a subscriber or receiver retains.
func retainMetrics(prefix string) []metric[bus.SubscriberStats] {
	return []metric[bus.SubscriberStats]{
		gauge(prefix+"_retained_messages",
			"Messages that the program retains now. If it only grows, the program forgets to release them.",
			nil, func(s *bus.SubscriberStats) int { return s.Retained }),
		gauge(prefix+"_retained_bytes",
			"Memory that is kept for retained messages, with all that goes with it. Near the limit, RetainBytes, Retain fails.",
			nil, func(s *bus.SubscriberStats) int { return s.RetainedBytes }),
		counter(prefix+"_retain_refusals_total",
			"Calls of Retain beyond RetainBytes. If it grows, release messages earlier or raise RetainBytes; no message is lost by it.",
			nil, func(s *bus.SubscriberStats) uint64 { return s.RetainRefused }),
	}
}
