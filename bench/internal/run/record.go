// SPDX-License-Identifier: Apache-2.0

package run

import (
	"time"

	"tagbus/bench/internal/load"
	"tagbus/bench/internal/scenario"
)

// Record is one measurement: a line of the raw data.
type Record struct {
	Scenario string  `json:"scenario"`
	System   string  `json:"system"`
	Round    int     `json:"round"`
	Seconds  float64 `json:"seconds"` // from the first message sent to the last received

	Sent       uint64 `json:"sent"`
	Received   uint64 `json:"received"` // by all subscribers
	Lost       uint64 `json:"lost"`
	Corrupt    uint64 `json:"corrupt"`
	Disordered uint64 `json:"disordered"`
	Sampled    uint64 `json:"sampled"` // compared byte by byte

	// Processor seconds, from the beginning to the end of the processes.
	PublisherCPU  float64 `json:"publisher_cpu"`
	SubscriberCPU float64 `json:"subscriber_cpu"`
	ServerCPU     float64 `json:"server_cpu,omitempty"`

	Waited  float64 `json:"waited"`  // for the machine to be idle, seconds
	Foreign float64 `json:"foreign"` // share of the machine that others used meanwhile

	Latency load.Histogram     `json:"latency,omitzero"`
	Extra   map[string]float64 `json:"extra,omitempty"`
	Profile map[string]float64 `json:"profile,omitempty"` // of the publisher: ns of CPU by what they went into, see costs
	Error   string             `json:"error,omitempty"`
}

// BulkRate is the name in Extra of the rate of a scenario with HalfOf.
const BulkRate = "bulk_messages_per_second"

// SendCalls is the name in Extra of how often a publisher that was profiled has called
// sendmsg; not there if the runner may not count that.
const SendCalls = "sendmsg_calls"

// CPU is the processor time of all processes.
func (r *Record) CPU() float64 { return r.PublisherCPU + r.SubscriberCPU + r.ServerCPU }

// add puts together what the programs have said.
func (r *Record) add(s scenario.Scenario, pub load.PubResult, subs []load.SubResult) {
	r.Sent, r.Corrupt = pub.Sent, pub.Corrupt
	r.Latency, r.Extra = pub.Latency, pub.Extra
	last := pub.EndNS
	for _, sub := range subs {
		r.Received += sub.Received
		r.Corrupt += sub.Corrupt
		r.Disordered += sub.Disordered
		r.Sampled += sub.Sampled
		last = max(last, sub.LastNS)
		if sub.Latency.Count > 0 {
			r.Latency = sub.Latency
		}
		for name, value := range sub.Extra {
			r.note(name, max(r.Extra[name], value))
		}
	}
	r.Seconds = time.Duration(last - pub.StartNS).Seconds()
	if s.Work != load.WorkPingPong && s.Work != load.WorkIdle && s.Work != load.WorkDirectory && s.Work != load.WorkPolicy {
		r.Lost = pub.Sent*uint64(len(subs)*max(1, s.Connects)) - r.Received
	}
}

func (r *Record) note(name string, value float64) {
	if r.Extra == nil {
		r.Extra = make(map[string]float64)
	}
	r.Extra[name] = value
}

// Figure returns a figure of the measurement, of messages of a size.
func (r *Record) Figure(m scenario.Metric, size int) float64 {
	switch m {
	case scenario.Messages:
		return float64(r.Received) / r.Seconds
	case scenario.Bytes:
		return float64(r.Received) * float64(size) / r.Seconds
	case scenario.P50:
		return float64(r.Latency.P50)
	case scenario.P99:
		return float64(r.Latency.P99)
	case scenario.CPU:
		// In ping-pong nothing is received but answers, which have a latency.
		return r.CPU() * 1e9 / float64(max(1, r.Received, r.Latency.Count))
	case scenario.SubscriberCPU:
		return r.SubscriberCPU * 1e9 / float64(max(1, r.Received))
	case scenario.Memory:
		return r.Extra["publisher_bytes_per_subscriber"]
	case scenario.SubscriberMemory:
		return r.Extra["subscriber_bytes_per_subscriber"]
	case scenario.IdleCPU:
		return r.Extra["publisher_idle_cpu"]
	case scenario.SubscriberIdle:
		return r.Extra["subscribers_idle_cpu"]
	case scenario.Connected:
		return r.Extra[load.ConnectSeconds]
	case scenario.Dropped:
		return r.Extra[load.LostBySub] + r.Extra[load.LostByPub]
	case scenario.AllSeen:
		return r.Extra[load.AllSeen]
	case scenario.OneSeen:
		return r.Extra[load.OneSeen]
	case scenario.MemberBytes:
		return r.Extra[load.MemberBytes]
	case scenario.ServersIdle:
		return r.Extra[load.ServersIdle]
	case scenario.WronglyGone:
		return r.Extra[load.WronglyGone]
	case scenario.ClientsIdle:
		return r.Extra[load.ClientsIdle]
	}
	return 0
}
