// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// newBackends returns the metric of the connections by their backends. The label is the name of a
// backend that this program has, so that no peer makes more of them.
func newBackends(r role) *prometheus.Desc {
	return prometheus.NewDesc(r.name("PEERs_by_backend"),
		r.text("PEERS connected now, by the transport of their connections. If those by tcp grow where shared memory or RDMA should carry the data, tagbus check says why."),
		[]string{"backend"}, nil)
}

// backendCounts counts connections by their backends. A backend stays when its last connection
// has ended, so that its series falls to 0.
type backendCounts map[string]int

// see makes a look.
func (c backendCounts) see(connected []bus.SubscriberState) {
	for name := range c {
		c[name] = 0
	}
	for i := range connected {
		if name := connected[i].Peer.Backend; name != "" {
			c[name]++
		}
	}
}

// all returns the counts.
func (c backendCounts) all() (all []bus.BackendCount) {
	for name, n := range c {
		all = append(all, bus.BackendCount{Backend: name, Connections: n})
	}
	return all
}

func collectBackends(ch chan<- prometheus.Metric, desc *prometheus.Desc, all []bus.BackendCount) {
	for _, b := range all {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(b.Connections), text(b.Backend))
	}
}
