// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Words of the options and of the lines that programs print.
const (
	RolePub    = "pub"
	RoleSub    = "sub"
	RoleServer = "server"

	WorkThroughput = "throughput"
	WorkPingPong   = "pingpong"
	WorkOpenLoop   = "openloop"
	WorkIdle       = "idle"
	WorkReplay     = "replay"
	WorkDirectory  = "directory"
	WorkPolicy     = "policy"
)

// Names in PubResult.Extra, of a publisher that is profiled.
const (
	SentPages    = "pages_sent"    // counted for each subscriber
	SentMessages = "messages_sent" // in these
)

// FileBytes is a name in SubResult.Extra, of a subscriber that records: bytes of the file
// for each message.
const FileBytes = "file_bytes_per_message"

// Names in Extra, of many subscribers that connect at once.
const (
	ConnectSeconds = "connect_seconds"
	LostBySub      = "connections_lost_or_refused"
	LostByPub      = "subscribers_lost_or_refused"
)

// Names in PubResult.Extra, of a directory. Times are seconds, memory is bytes, and what is
// idle uses a share of a processor.
const (
	AllSeen         = "all_see_all"
	SlowestAnnounce = "slowest_announce"
	OneSeen         = "one_more_is_seen"
	ServersCPU      = "cpu_of_servers"
	ClientsCPU      = "cpu_of_clients"
	ServersIdle     = "idle_servers"
	ClientsIdle     = "idle_clients"
	MemberBytes     = "memory_of_the_largest_member"
	ClientsBytes    = "memory_of_clients"
	WronglyGone     = "entries_gone"
	Problems        = "problems"
)

// ErrNoPorts means that a server finds no place to listen.
var ErrNoPorts = errors.New("load: no free ports")

// PubResult is the line that a publisher prints at its end.
type PubResult struct {
	Role    string    `json:"role"`
	Sent    uint64    `json:"sent"`
	StartNS int64     `json:"start_ns"` // CLOCK_MONOTONIC at the first message
	EndNS   int64     `json:"end_ns"`   // when the last one was accepted
	Refused uint64    `json:"refused,omitempty"`
	Corrupt uint64    `json:"corrupt,omitempty"` // answers, in ping-pong
	Latency Histogram `json:"latency,omitzero"`  // round trips, in ping-pong

	// CPU is the processor time of what has published, in seconds, if that was a process
	// of its own; otherwise 0.
	CPU float64 `json:"cpu,omitempty"`

	// Extra are figures of the system's own, for example memory per subscriber.
	Extra map[string]float64 `json:"extra,omitempty"`
}

// SubResult is the line that a subscriber prints at its end.
type SubResult struct {
	Role       string    `json:"role"`
	Received   uint64    `json:"received"`
	LastNS     int64     `json:"last_ns"` // CLOCK_MONOTONIC at the last message
	Sampled    uint64    `json:"sampled"` // compared byte by byte
	Corrupt    uint64    `json:"corrupt"`
	Disordered uint64    `json:"disordered"`
	Latency    Histogram `json:"latency,omitzero"`

	// CPU is the processor time of what has received, in seconds, if that was a process
	// of its own; otherwise 0.
	CPU float64 `json:"cpu,omitempty"`

	Extra map[string]float64 `json:"extra,omitempty"`
}

// Add adds what another subscriber of the same process has received. Latencies
// are of one subscriber only.
func (r *SubResult) Add(other SubResult) {
	r.Received += other.Received
	r.LastNS = max(r.LastNS, other.LastNS)
	r.Sampled += other.Sampled
	r.Corrupt += other.Corrupt
	r.Disordered += other.Disordered
}

// Histogram is a distribution of latencies, in nanoseconds.
type Histogram struct {
	Count uint64 `json:"count"`
	P50   int64  `json:"p50"`
	P90   int64  `json:"p90"`
	P99   int64  `json:"p99"`
	P999  int64  `json:"p999"`
	Max   int64  `json:"max"`

	counts *hdrhistogram.Histogram
}

// longest is the largest latency that is told from longer ones.
const longest = 60e9

// NewHistogram returns an empty histogram.
func NewHistogram() Histogram {
	return Histogram{counts: hdrhistogram.New(1, longest, 3)}
}

// Record adds a latency.
func (h *Histogram) Record(ns int64) {
	// Two clocks that are read one after the other may differ by some ns.
	_ = h.counts.RecordValue(min(max(ns, 1), longest)) // within its limits: no error
}

// summary returns the histogram with its percentiles, which it may have already.
func (h *Histogram) summary() Histogram {
	if h.counts == nil {
		return *h
	}
	if h.counts.TotalCount() == 0 {
		return Histogram{}
	}
	return Histogram{
		Count: uint64(h.counts.TotalCount()), P50: h.counts.ValueAtQuantile(50), P90: h.counts.ValueAtQuantile(90),
		P99: h.counts.ValueAtQuantile(99), P999: h.counts.ValueAtQuantile(99.9), Max: h.counts.Max(),
	}
}
