package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// receiver is the collector of a receiver.
type receiver struct{ stats func() bus.SubscriberStats }

// OfReceiver returns a collector of a receiver's counters.
//
//   - stats: the Stats method of a bus.Receiver. It is called once for each
//     scrape.
//   - Labels: lost messages have cause, as those of OfSubscriber.
//   - After Close of the receiver the last totals stay.
//   - Threads: any. Blocks: never.
func OfReceiver(stats func() bus.SubscriberStats) prometheus.Collector { return receiver{stats} }

// Describe implements prometheus.Collector.
func (r receiver) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, receiverMetrics)
	receiverLosses.describe(ch)
}

// Collect implements prometheus.Collector.
func (r receiver) Collect(ch chan<- prometheus.Metric) {
	st := r.stats()
	collect(ch, receiverMetrics, &st)
	receiverLosses.collect(ch, &st.Losses)
}

var receiverLosses = newLosses("tagbus_receiver",
	"Messages that were sent to this receiver and did not arrive, as reported by gaps, which name the tags. "+
		"Full: it is slower than the senders, and its policy loses messages. Memory: senders need a larger pool. Connection: look at the network. Ended: missing at a sender's end without a reason, which is an error of the bus.",
	"Messages that the policies latest and sample have left out on purpose.",
	subscriberCauses)

var receiverMetrics = append(retainMetrics("tagbus_receiver"), []metric[bus.SubscriberStats]{
	gauge("tagbus_receiver_senders",
		"Senders connected now. They connect when they send to one of the tags first.",
		nil, func(s *bus.SubscriberStats) int { return s.Publishers }),
	counter("tagbus_receiver_messages_total",
		"Messages received. If it stands still, look whether senders are connected, and whether they send.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Messages }),
	counter("tagbus_receiver_payload_bytes_total",
		"Payload of the received messages.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Bytes }),
	counter("tagbus_receiver_pages_total",
		"Pages received. Each message that is to be acknowledged ends one.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Pages }),
	counter("tagbus_receiver_overflowed_messages_total",
		"Messages received and lost again, because they were read too slowly: the queue of a subscription without handler was full, and its policy loses messages. Read faster, or raise QueueBytes.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Overflowed }),
	counter("tagbus_receiver_unwanted_messages_total",
		"Messages that arrived when the receiver was already ending and took none any more.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Unwanted }),
	counter("tagbus_receiver_silent_senders_total",
		"Connections closed because nothing was heard of the sender for a heartbeat timeout. If it grows, hosts or networks fail, or senders are stopped: the lost events name them.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Silent }),
	counter("tagbus_receiver_panics_total",
		"Calls of the message handler that panicked; the message is not acknowledged. If it grows, the program has an error: its problem events have the cause.",
		nil, func(s *bus.SubscriberStats) uint64 { return s.Panics }),
}...)
