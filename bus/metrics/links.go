// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
	"tagbus/internal/plain"
)

// links are the metrics of the peers that are connected to a publisher or sender.
type links struct {
	each   []metric[bus.SubscriberState] // labels: instance, name, host and addr
	lanes  []metric[bus.LaneState]       // and policy
	losses losses                        // of a lane
}

func (k links) describe(ch chan<- *prometheus.Desc) {
	describe(ch, k.each)
	describe(ch, k.lanes)
	k.losses.describe(ch)
}

func (k links) collect(ch chan<- prometheus.Metric, all []bus.SubscriberState) {
	for i := range all {
		s := &all[i]
		labels := []string{text(s.Peer.Instance), text(s.Peer.Name), text(s.Peer.Host), text(s.Peer.Addr.String())}
		collect(ch, k.each, s, labels...)
		for _, lane := range byPolicy(s.Lanes) {
			labels := append(slices.Clone(labels), lane.Policy.String())
			collect(ch, k.lanes, &lane, labels...)
			k.losses.collect(ch, &lane.Losses, labels...)
		}
	}
}

// byPolicy adds up the lanes that differ in their backlog only: their labels are
// the same. lanes are sorted by policy.
func byPolicy(lanes []bus.LaneState) (sums []bus.LaneState) {
	for _, lane := range lanes {
		last := len(sums) - 1
		if last < 0 || sums[last].Policy != lane.Policy {
			sums = append(sums, lane)
			continue
		}
		sum := &sums[last]
		sum.Queued += lane.Queued
		sum.Limit += lane.Limit
		sum.Unconfirmed += lane.Unconfirmed
		sum.Losses.Full += lane.Losses.Full
		sum.Losses.Memory += lane.Losses.Memory
		sum.Losses.Connection += lane.Losses.Connection
		sum.Losses.LeftOut += lane.Losses.LeftOut
	}
	return sums
}

// text makes what a peer says about itself a label, safe to show: other bytes than
// UTF-8 would spoil the whole scrape, and a page of metrics is looked at on a terminal.
func text(s string) string { return plain.Line(s) }
