// SPDX-License-Identifier: Apache-2.0

package metrics

import "tagbus/bus"

// The roles of the side that receives.
var (
	subscriberRole = role{
		self: "subscriber", peer: "publisher", send: "publish",
		messages: "If it falls below what the run needs, look whether they run, and whether both sides name the same bus directory.",
		fuller:   "If it grows nearly as fast as the messages, pages come nearly empty: raise FlushInterval at the publishers.",
	}
	receiverRole = role{
		self: "receiver", peer: "sender", send: "send",
		messages: "They connect when they send to one of the tags first.",
		fuller:   "Each message that is to be acknowledged ends one.",
	}
)

// incomingMetrics are those of a subscriber or a receiver.
func incomingMetrics(r role) []metric[bus.SubscriberStats] {
	type stats = bus.SubscriberStats
	return []metric[stats]{
		gauge(r.name("PEERs"),
			r.text("PEERS connected now. MESSAGES"),
			nil, func(s *stats) int { return s.Publishers }),
		counter(r.name("messages_total"),
			r.text("Messages received. If it stands still, look whether PEERs are connected, and whether they SEND."),
			nil, func(s *stats) uint64 { return s.Messages }),
		counter(r.name("payload_bytes_total"),
			"Payload of the received messages.",
			nil, func(s *stats) uint64 { return s.Bytes }),
		counter(r.name("pages_total"),
			r.text("Pages received. FULLER"),
			nil, func(s *stats) uint64 { return s.Pages }),
		counter(r.name("overflowed_messages_total"),
			"Messages received and lost again, because they were read too slowly: the queue of a subscription without handler was full, and its policy loses messages. Read faster, or raise QueueBytes.",
			nil, func(s *stats) uint64 { return s.Overflowed }),
		counter(r.name("unwanted_messages_total"),
			r.text("Messages that arrived after the end of what wanted them: a subscription, or the SELF. Some are normal; if it grows for long, subscriptions come and go too often."),
			nil, func(s *stats) uint64 { return s.Unwanted }),
		counter(r.name("silent_PEERs_total"),
			r.text("Connections closed because nothing was heard of the PEER for a heartbeat timeout. If it grows, hosts or networks fail, or PEERs are stopped: the lost events name them."),
			nil, func(s *stats) uint64 { return s.Silent }),
		counter(r.name("not_allowed_total"),
			r.text("Times that the policy of this side, or of a PEER, did not let the other one do what it asked for. If it grows, a program has the wrong certificate, a rule is missing, or there is a stranger: the refused events name peer, tags and rule."),
			nil, func(s *stats) uint64 { return s.NotAllowed }),
		counter(r.name("broken_connections_total"),
			r.text("Connections that ended without goodbye, also those that were closed for silence. If it grows, look at the network, and whether PEERs are killed: the lost events name them."),
			nil, func(s *stats) uint64 { return s.Broken }),
		counter(r.name("own_stalls_total"),
			r.text("Of the broken connections, those that the PEER closed after this program had taken nothing for a while: its handlers or readers are slow, or it stood still. If it grows, look at this program, unless the PEER was killed."),
			nil, func(s *stats) uint64 { return s.OwnStalls }),
		counter(r.name("panics_total"),
			"Calls of a message handler that panicked; a message that is to be acknowledged is not. If it grows, the program has an error: its problem events have the cause.",
			nil, func(s *stats) uint64 { return s.Panics }),
		gauge(r.name("retained_messages"),
			"Messages that the program retains now. If it only grows, the program forgets to release them.",
			nil, func(s *stats) int { return s.Retained }),
		gauge(r.name("retained_bytes"),
			"Memory that is kept for retained messages, with all that goes with it. Near the limit, RetainBytes, Retain fails.",
			nil, func(s *stats) int { return s.RetainedBytes }),
		counter(r.name("retain_refusals_total"),
			"Calls of Retain beyond RetainBytes. If it grows, release messages earlier or raise RetainBytes; no message is lost by it.",
			nil, func(s *stats) uint64 { return s.RetainRefused }),
	}
}

func incomingLosses(r role) losses {
	return newLosses(r.name(""),
		r.text("Messages that were meant for this SELF and did not arrive, as reported by gaps, which name the tags. "+
			"Full: it is slower than the PEERs, and its policy loses messages. Memory: PEERs need a larger pool. Connection: look at the network. Ended: missing at a PEER's end without a reason, which is an error of the bus."),
		"Messages that the policies latest and sample have left out on purpose.",
		subscriberCauses)
}
