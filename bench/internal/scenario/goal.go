// SPDX-License-Identifier: Apache-2.0

package scenario

// Goal is what a figure of a system is to be: at least, or at most, a multiple of
// that of another, or a number.
type Goal struct {
	System          string // default: the one that the scenario compares
	Metric          Metric // default: the scenario's
	Of              string // the other system; empty: the goal is a number
	In              string // the other's scenario, measured before; default: the same
	AtLeast, AtMost float64
}

// Metric is a figure of a measurement.
type Metric string

// The metrics. Rates count what all subscribers together received.
const (
	Messages         Metric = "messages"          // per second
	Bytes            Metric = "bytes"             // per second
	P50              Metric = "p50"               // latency, ns
	P99              Metric = "p99"               // latency, ns
	CPU              Metric = "cpu"               // of all processes, ns for each message received or round trip
	SubscriberCPU    Metric = "subscriber cpu"    // of the subscribers, ns for each message received
	Memory           Metric = "memory"            // of the publisher for a subscriber, bytes
	SubscriberMemory Metric = "subscriber memory" // of a subscriber, bytes
	IdleCPU          Metric = "idle cpu"          // of the publisher while nothing is published: share of a processor
	Connected        Metric = "connected"         // seconds until all subscribers have subscribed
	Dropped          Metric = "dropped"           // connections of these that were lost or refused, counted at both ends
	SubscriberIdle   Metric = "subscriber idle"   // the same of a subscriber's process
)

// The metrics of a directory.
const (
	AllSeen     Metric = "all see all"      // seconds
	OneSeen     Metric = "one more is seen" // seconds
	MemberBytes Metric = "memory of a member"
	ServersIdle Metric = "servers idle" // share of a processor
	ClientsIdle Metric = "clients idle" // share of a processor
	WronglyGone Metric = "entries gone" // of publishers that live, counted by each subscriber
)

// Goals returns the goals of the scenario, each complete.
func (s Scenario) Goals() []Goal {
	all := make([]Goal, len(s.Wants))
	for i, g := range s.Wants {
		if g.System == "" {
			g.System = s.Compared()
		}
		if g.Metric == "" {
			g.Metric = s.Metric
		}
		if g.In == "" {
			g.In = s.Name
		}
		all[i] = g
	}
	return all
}
