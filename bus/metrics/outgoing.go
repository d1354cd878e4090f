// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// The roles of the side that sends.
var (
	publisherRole = role{
		self: "publisher", peer: "subscriber", send: "publish", sending: "publishing",
		messages: "subscribed to or not", fuller: "If it grows nearly as fast as the messages, pages go out nearly empty: raise FlushInterval.",
	}
	senderRole = role{
		self: "sender", peer: "receiver", send: "send", sending: "sending",
		messages: "each for one receiver", fuller: "Each message of SendAcked ends one.",
	}
)

// outgoingMetrics are those of a publisher or a sender, without what only one of
// them counts.
func outgoingMetrics(r role) []metric[bus.PublisherStats] {
	type stats = bus.PublisherStats
	return append([]metric[stats]{
		counter(r.name("messages_total"),
			r.text("Messages that the SELF has accepted, MESSAGES. If it stands still while the program has messages to SEND, look at refusals and queued bytes."),
			nil, func(s *stats) uint64 { return s.Messages }),
		counter(r.name("payload_bytes_total"),
			"Payload of the accepted messages. Compare it with what the detector should send.",
			nil, func(s *stats) uint64 { return s.Bytes }),
		counter(r.name("refusals_total"),
			r.text("Times that there was no room and the message was accepted for no subscriber; a SENDING program tries again, so this is not loss. "+
				"If it grows, PEERs are too slow: find those whose queued bytes are at their limit, or raise the pool if free pages are at 0."),
			nil, func(s *stats) uint64 { return s.Refusals }),
		gauge(r.name("unconfirmed_messages"),
			r.text("Messages of connections that have ended, sent or dropped, of which the PEER has not said what became of them, counted for each PEER. It falls when one is back and tells. "+
				"If it grows, PEERs die or are cut off under load: look into their logs and at the network."),
			nil, func(s *stats) int { return int(s.Unconfirmed) }),
		counter(r.name("dropped_messages_total"),
			r.text("Messages that PEERs have received and lost again, as they say about once a second: the queue of a subscription was full, or a handler panicked. "+
				"If it grows, find the PEER by tagbus losses: its program reads too slowly, or its log has the panic."),
			nil, func(s *stats) uint64 { return s.Dropped.Overflowed + s.Dropped.Panicked }),
		counter(r.name("silent_PEERs_total"),
			r.text("Connections closed because nothing was heard of the PEER for a heartbeat timeout. If it grows, hosts or networks fail, or PEERs are stopped: the lost events name them."),
			nil, func(s *stats) uint64 { return s.Silent }),
		counter(r.name("stalled_PEERs_total"),
			r.text("Connections closed because the PEER took nothing for as long as its policy or MaxStall allows. If it grows, PEERs hang: the lost events name them."),
			nil, func(s *stats) uint64 { return s.Stalled }),
		counter(r.name("not_allowed_total"),
			r.text("Times that the policy of this side, or of a PEER, did not let the other one do what it asked for. If it grows, a program has the wrong certificate, a rule is missing, or there is a stranger: the refused events name peer, tags and rule."),
			nil, func(s *stats) uint64 { return s.NotAllowed }),
		counter(r.name("broken_connections_total"),
			r.text("Connections that ended without goodbye, also those that were closed for silence or stalling. If it grows, look at the network, and whether PEERs are killed: the lost events name them."),
			nil, func(s *stats) uint64 { return s.Broken }),
		counter(r.name("own_stalls_total"),
			r.text("Of the broken connections, those that the PEER closed after this program had taken nothing for a while: its handlers or readers are slow, or it stood still. If it grows, look at this program, unless the PEER was killed."),
			nil, func(s *stats) uint64 { return s.OwnStalls }),
		gauge(r.name("PEERs"),
			r.text("PEERS connected now. If it falls below what the run needs, start them again."),
			nil, func(s *stats) int { return len(s.Subscribers) }),
		gauge(r.name("awaited_PEERs"),
			r.text("PEERs that were lost and may come back, for which the end of this program waits. If it stays above 0, look whether they are stopped or cut off: the lost events name them."),
			nil, func(s *stats) int { return s.Awaited }),
	}, memoryMetrics(r)...)
}

// memoryMetrics are those of the pool and of the cache.
func memoryMetrics(r role) []metric[bus.PublisherStats] {
	type stats = bus.PublisherStats
	return []metric[stats]{
		gauge(r.name("pool_pages"),
			"Pages in the pool, free or not: PoolBytes by PageBytes. It never changes.",
			nil, func(s *stats) int { return s.Pages }),
		gauge(r.name("pool_free_pages"),
			r.text("Pages of the pool without any message. At 0 messages go into what is left of the others, and then there is no SENDING: raise PoolBytes, or lower QueueBytes so that slow PEERs hold less."),
			nil, func(s *stats) int { return s.PagesFree }),
		gauge(r.name("pool_min_free_pages"),
			r.text("Fewest free pages in the last minute, or in up to two. 0 means that SENDING stood still, or nearly, for want of a page at some time, even if there are enough now: raise PoolBytes, or lower QueueBytes."),
			nil, func(s *stats) int { return s.MinPagesFree }),
		gauge(r.name("cached_messages"),
			r.text("Messages in the cache for late and returning PEERs."),
			nil, func(s *stats) int { return s.Cached }),
		gauge(r.name("cached_bytes"),
			"Memory of the cache in use. At CacheBytes it keeps fewer messages of a tag than CacheMessages says: raise CacheBytes.",
			nil, func(s *stats) int { return s.CachedBytes }),
		counter(r.name("replayed_messages_total"),
			r.text("Messages sent from the cache, counted for each PEER. If it grows all the time, connections are lost again and again."),
			nil, func(s *stats) uint64 { return s.Replayed }),
	}
}

func outgoingLosses(r role) losses {
	return newLosses(r.name(""),
		r.text("Messages that PEERs did not get, counted for each, also of those that are gone. Full: they were slower than the SELF. Memory: the lossy ones together held half of the pool: raise it. Connection: they were lost with a connection, which PEERs tell when they are back."),
		r.text("Messages that the policies latest and sample have left out on purpose, counted for each PEER."),
		publisherCauses)
}

// linkMetrics are those of the peers of a publisher or a sender. No label is called
// instance, because that is Prometheus's name for the program that was scraped.
func linkMetrics(r role) links {
	labels := []string{"name", "host"}
	laneLabels := append(slices.Clone(labels), "policy") // subscriptions that have one policy
	type (
		sums = peerSums
		lane = laneSums
	)
	return links{
		info: prometheus.NewDesc(r.name("PEER_info"),
			r.text("1 for each PEER that is connected: its instance, which is new with each run, and its address, by the name and host that the other metrics have."),
			append([]string{r.peer}, "name", "host", "addr"), nil),
		sums: []metric[sums]{
			gauge(r.name("PEER_connections"),
				r.text("PEERS with this name and host that are connected now. If it falls below what the run needs, start them again."),
				labels, func(s *sums) int { return s.connected }),
			counter(r.name("PEER_sent_messages_total"),
				r.text("Messages handed whole to the transport for PEERs with this name and host. If it stands still while queued bytes do not fall, the PEER has stopped reading."),
				labels, func(s *sums) uint64 { return s.messages }),
			counter(r.name("PEER_sent_bytes_total"),
				r.text("Bytes of the pages sent to PEERs with this name and host, with their headers. Compare its rate with that of the link."),
				labels, func(s *sums) uint64 { return s.bytes }),
			counter(r.name("PEER_sent_pages_total"),
				r.text("Pages sent to PEERs with this name and host. FULLER"),
				labels, func(s *sums) uint64 { return s.pages }),
		},
		paths: []metric[sums]{
			counter(r.name("PEER_sent_segments_total"),
				r.text("Segments of TCP with data that were sent to PEERs with this name and host; absent for transports that measure none. Only to compare with those that were sent again."),
				labels, func(s *sums) uint64 { return s.segments }),
			counter(r.name("PEER_retransmitted_segments_total"),
				r.text("Segments of TCP that were sent again to PEERs with this name and host, as the network lost them or their acknowledgement came late; absent for transports that measure none. If it grows by more than one in a thousand segments, look at the network: cables, switches that overflow, the MTU."),
				labels, func(s *sums) uint64 { return s.retransmitted }),
		},
		connected: []metric[sums]{
			gauge(r.name("PEER_free_sends"),
				r.text("Pages that the connection to this PEER would take at once; of several, the fewest. 0 means that many small pages are under way and the next wait in the SELF: "+
					"if queued bytes grow too, the PEER or the network is slow; if not, raise FlushInterval for fuller pages."),
				labels, func(s *sums) int { return s.free }),
			gauge(r.name("PEER_min_free_sends"),
				r.text("Fewest free sends of this PEER in the last minute, or in up to two. 0 means that pages had to wait, or nearly, at some time, even if all have gone out by now: a burst. Only if it stays at 0 there is something to do; see free sends."),
				labels, func(s *sums) int { return s.minFree }),
		},
		lanes: []metric[lane]{
			gauge(r.name("PEER_queued_bytes"),
				r.text("Bytes of the pages that this PEER holds: reserved, queued or being sent; of several, those of the one nearest to its limit. At its limit it blocks the SENDING of its tags, or loses messages, as its policy says: speed it up, or raise QueueBytes if it is only bursts."),
				laneLabels, func(s *lane) int { return s.queued }),
			gauge(r.name("PEER_queue_limit_bytes"),
				r.text("Bytes of pages that the same PEER may hold: QueueBytes, or the less that it has asked for."),
				laneLabels, func(s *lane) int { return s.limit }),
			gauge(r.name("PEER_unconfirmed_messages"),
				r.text("Messages of earlier connections of which this PEER has not said what became of them. It is 0 as soon as it has told, mostly at once."),
				laneLabels, func(s *lane) int { return int(s.unconfirmed) }),
		},
		losses: newLosses(r.name("PEER"),
			r.text("Messages that PEERs with this name and host did not get; they count the same themselves. Full: they are slower than the SELF. Memory: raise the pool. Connection: look at the network."),
			r.text("Messages that the policy has left out on purpose for PEERs with this name and host."),
			publisherCauses, laneLabels...),
	}
}
