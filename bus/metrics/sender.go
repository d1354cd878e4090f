package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// sender is the collector of a sender.
type sender struct{ stats func() bus.SenderStats }

// OfSender returns a collector of a sender's counters.
//
//   - stats: the Stats method of a bus.Sender; see OfPublisher.
//   - Labels: the metrics of each receiver have receiver (its instance), name,
//     host and addr, those of its room and its losses also policy; otherwise as
//     OfPublisher says of subscribers. A sender dials them itself, and only those
//     whose tags it uses.
//   - After Close of the sender the last totals stay.
//   - Threads: any. Blocks: never, but sending goroutines and scrapes wait for
//     each other as with Stats.
func OfSender(stats func() bus.SenderStats) prometheus.Collector { return sender{stats} }

// Describe implements prometheus.Collector.
func (s sender) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, senderMetrics)
	senderLosses.describe(ch)
	receiverLinks.describe(ch)
}

// Collect implements prometheus.Collector.
func (s sender) Collect(ch chan<- prometheus.Metric) {
	st := s.stats()
	collect(ch, senderMetrics, &st)
	senderLosses.collect(ch, &st.Losses)
	receiverLinks.collect(ch, st.Subscribers)
}

var senderMetrics = []metric[bus.SenderStats]{
	counter("tagbus_sender_messages_total",
		"Messages accepted by Send and its relatives, each for one receiver. If it stands still while the program sends, look at the messages without receiver, at refusals and queued pages.",
		nil, func(s *bus.SenderStats) uint64 { return s.Messages }),
	counter("tagbus_sender_payload_bytes_total",
		"Payload of the accepted messages.",
		nil, func(s *bus.SenderStats) uint64 { return s.Bytes }),
	counter("tagbus_sender_no_receiver_total",
		"Times that a message was refused because no receiver that is connected owns its tag. If it grows, look whether the receivers run, and whether both sides name the same bus directory.",
		nil, func(s *bus.SenderStats) uint64 { return s.NoReceiver }),
	counter("tagbus_sender_acked_messages_total",
		"Messages of which SendAcked knows that a receiver has handled them.",
		nil, func(s *bus.SenderStats) uint64 { return s.Acked }),
	counter("tagbus_sender_unacked_messages_total",
		"Messages that were accepted and for which SendAcked has failed: each may or may not have been handled. If it grows, look at the lost connections, the policy of the receivers, their panics, and the deadlines of the program.",
		nil, func(s *bus.SenderStats) uint64 { return s.Unacked }),
	counter("tagbus_sender_refusals_total",
		"Times that there was no room and the message was accepted for nobody; a sending program tries again, so this is not loss. "+
			"If it grows, receivers are too slow: find those whose queued pages are at their limit, or raise the pool if free pages are at 0.",
		nil, func(s *bus.SenderStats) uint64 { return s.Refusals }),
	gauge("tagbus_sender_unconfirmed_messages",
		"Messages of connections that have ended, sent or dropped, of which the receiver has not said what became of them. It falls when one is back and tells. If it grows, receivers die or are cut off under load: look into their logs and at the network.",
		nil, func(s *bus.SenderStats) int { return int(s.Unconfirmed) }),
	counter("tagbus_sender_silent_receivers_total",
		"Connections closed because nothing was heard of the receiver for a heartbeat timeout. If it grows, hosts or networks fail, or receivers are stopped: the lost events name them.",
		nil, func(s *bus.SenderStats) uint64 { return s.Silent }),
	counter("tagbus_sender_stalled_receivers_total",
		"Connections closed because the receiver took nothing for as long as its policy or MaxStall allows. If it grows, receivers hang: the lost events name them.",
		nil, func(s *bus.SenderStats) uint64 { return s.Stalled }),
	gauge("tagbus_sender_receivers",
		"Receivers connected now. If it falls below what the run needs, start them again.",
		nil, func(s *bus.SenderStats) int { return len(s.Subscribers) }),
	gauge("tagbus_sender_pool_pages",
		"Pages in the pool, free or not: PoolBytes by PageBytes. It never changes.",
		nil, func(s *bus.SenderStats) int { return s.Pages }),
	gauge("tagbus_sender_pool_free_pages",
		"Free pages in the pool. At 0 nothing can be sent: raise PoolBytes, or lower QueueBytes so that slow receivers hold less.",
		nil, func(s *bus.SenderStats) int { return s.PagesFree }),
	gauge("tagbus_sender_pool_min_free_pages",
		"Fewest free pages since the last scrape. 0 means that sending stood still, or nearly, for want of a page at some time since, even if there are enough now: raise PoolBytes, or lower QueueBytes.",
		nil, func(s *bus.SenderStats) int { return s.MinPagesFree }),
	gauge("tagbus_sender_cached_messages",
		"Messages in the cache for receivers whose connection is lost.",
		nil, func(s *bus.SenderStats) int { return s.Cached }),
	gauge("tagbus_sender_cached_bytes",
		"Memory of the cache in use. At CacheBytes it keeps fewer messages of a tag than CacheMessages says: raise CacheBytes.",
		nil, func(s *bus.SenderStats) int { return s.CachedBytes }),
	counter("tagbus_sender_replayed_messages_total",
		"Messages sent again from the cache. If it grows all the time, connections are lost again and again.",
		nil, func(s *bus.SenderStats) uint64 { return s.Replayed }),
}

var senderLosses = newLosses("tagbus_sender",
	"Messages that receivers did not get, also those that are gone. Full: they were slower than the sender. Memory: the lossy ones together held half of the pool: raise it. Connection: they were lost with a connection, which receivers tell when they are back.",
	"Messages that the policies latest and sample have left out on purpose.",
	publisherCauses)

// receiverLabels name a receiver of a sender; see linkLabels.
var receiverLabels = []string{"receiver", "name", "host", "addr"}

var receiverLinks = links{
	each: []metric[bus.SubscriberState]{
		counter("tagbus_sender_receiver_sent_messages_total",
			"Messages handed whole to the transport for this receiver since it connected. If it stands still while queued pages do not fall, the receiver has stopped reading.",
			receiverLabels, func(s *bus.SubscriberState) uint64 { return s.Messages }),
		counter("tagbus_sender_receiver_sent_bytes_total",
			"Bytes of the pages sent to this receiver since it connected, with their headers. Compare its rate with that of the link.",
			receiverLabels, func(s *bus.SubscriberState) uint64 { return s.Bytes }),
		counter("tagbus_sender_receiver_sent_pages_total",
			"Pages sent to this receiver since it connected. Each message of SendAcked ends one.",
			receiverLabels, func(s *bus.SubscriberState) uint64 { return s.Pages }),
		gauge("tagbus_sender_receiver_free_sends",
			"Pages that the connection to this receiver would take at once. 0 means that many small pages are under way and the next wait in the sender.",
			receiverLabels, func(s *bus.SubscriberState) int { return s.SendsFree }),
		gauge("tagbus_sender_receiver_min_free_sends",
			"Fewest free sends of this receiver since the last scrape. 0 means that pages had to wait, or nearly, at some time since: a burst. Only if it stays at 0 there is something to do.",
			receiverLabels, func(s *bus.SubscriberState) int { return s.MinSendsFree }),
	},
	lanes: []metric[bus.LaneState]{
		gauge("tagbus_sender_receiver_queued_pages",
			"Pages that this receiver holds: reserved, queued or being sent. At its limit it blocks the sending to its tags, or loses messages, as its policy says: speed it up, or raise QueueBytes if it is only bursts.",
			receiverLaneLabels, func(s *bus.LaneState) int { return s.Queued }),
		gauge("tagbus_sender_receiver_queue_limit_pages",
			"Pages that this receiver may hold: QueueBytes by PageBytes, or the less that it has asked for. It never changes.",
			receiverLaneLabels, func(s *bus.LaneState) int { return s.Limit }),
		gauge("tagbus_sender_receiver_unconfirmed_messages",
			"Messages of earlier connections of which this receiver has not said what became of them. It is 0 as soon as it has told, mostly at once.",
			receiverLaneLabels, func(s *bus.LaneState) int { return int(s.Unconfirmed) }),
	},
	losses: newLosses("tagbus_sender_receiver",
		"Messages that this receiver did not get since it first connected; it counts the same itself. Full: it is slower than the sender. Memory: raise the pool. Connection: look at the network.",
		"Messages that the policy has left out on purpose since this receiver first connected.",
		publisherCauses, receiverLaneLabels...),
}

var receiverLaneLabels = append(slices.Clone(receiverLabels), "policy")
