// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// links are the metrics of the peers of a publisher or sender.
type links struct {
	info *prometheus.Desc // labels: the peer's instance, name, host and addr

	// Labels: name and host.
	sums      []metric[peerSums]
	paths     []metric[peerSums] // of those whose transport measures it
	connected []metric[peerSums] // of those that are connected

	// Labels: name, host and policy.
	losses losses
	lanes  []metric[laneSums] // of those that are connected
}

func (k *links) describe(ch chan<- *prometheus.Desc) {
	ch <- k.info
	describe(ch, k.sums)
	describe(ch, k.paths)
	describe(ch, k.connected)
	k.losses.describe(ch)
	describe(ch, k.lanes)
}

// collect sends the numbers of the last look. p.mu is held.
func (k *links) collect(ch chan<- prometheus.Metric, p *peers, connected []bus.SubscriberState) {
	for i := range connected {
		peer := &connected[i].Peer
		ch <- prometheus.MustNewConstMetric(k.info, prometheus.GaugeValue, 1,
			text(peer.Instance), text(peer.Name), text(peer.Host), text(peer.Addr.String()))
	}
	for labels, row := range p.all.rows {
		if !p.all.inUse(row) {
			row.value.connected = 0
		}
		collect(ch, k.sums, &row.value, labels.name, labels.host)
		if row.value.measured {
			collect(ch, k.paths, &row.value, labels.name, labels.host)
		}
		if p.all.inUse(row) {
			collect(ch, k.connected, &row.value, labels.name, labels.host)
		}
	}
	for labels, row := range p.lanes.rows {
		k.losses.collect(ch, &row.value.losses, labels.name, labels.host, labels.policy)
		if p.lanes.inUse(row) {
			collect(ch, k.lanes, &row.value, labels.name, labels.host, labels.policy)
		}
	}
}
