// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// collector shows the counters of a publisher, subscriber, sender or receiver.
type collector[S any] struct {
	stats   func() S
	metrics []metric[S]

	losses losses
	lost   func(*S) *bus.Losses

	backends  *prometheus.Desc
	byBackend func(*S) []bus.BackendCount // nil for one that has links, which are counted

	links  *links // nil for one that has none
	linked func(*S) *bus.PublisherStats
	peers  *peers
}

// Describe implements prometheus.Collector.
func (c collector[S]) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, c.metrics)
	c.losses.describe(ch)
	ch <- c.backends
	if c.links != nil {
		c.links.describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (c collector[S]) Collect(ch chan<- prometheus.Metric) {
	if c.links != nil {
		c.peers.mu.Lock()
		defer c.peers.mu.Unlock()
	}
	st := c.stats()
	collect(ch, c.metrics, &st)
	c.losses.collect(ch, c.lost(&st))
	if c.links != nil {
		of := c.linked(&st)
		c.peers.see(of.Subscribers, of.Gone)
		c.links.collect(ch, c.peers, of.Subscribers)
		collectBackends(ch, c.backends, c.peers.backends.all())
		return
	}
	collectBackends(ch, c.backends, c.byBackend(&st))
}

// metric is one number out of counters of type S.
type metric[S any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*S) float64
}

// counter makes a metric that only grows while its source lives.
func counter[S any](name, help string, labels []string, value func(*S) uint64) metric[S] {
	return metric[S]{
		prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue,
		func(s *S) float64 { return float64(value(s)) },
	}
}

// gauge makes a metric that goes up and down.
func gauge[S any](name, help string, labels []string, value func(*S) int) metric[S] {
	return metric[S]{
		prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue,
		func(s *S) float64 { return float64(value(s)) },
	}
}

// state makes a metric that is 1 while something is so, and otherwise 0.
func state[S any](name, help string, value func(*S) bool) metric[S] {
	return gauge(name, help, nil, func(s *S) int {
		if value(s) {
			return 1
		}
		return 0
	})
}

// ofPart makes metrics of a part those of the whole.
func ofPart[W, P any](metrics []metric[P], part func(*W) *P) (whole []metric[W]) {
	for _, m := range metrics {
		whole = append(whole, metric[W]{m.desc, m.kind, func(s *W) float64 { return m.value(part(s)) }})
	}
	return whole
}

func describe[S any](ch chan<- *prometheus.Desc, metrics []metric[S]) {
	for _, m := range metrics {
		ch <- m.desc
	}
}

// collect sends the numbers of s. labels are the values of the labels with
// which the metrics were made, in valid UTF-8: it panics on others.
func collect[S any](ch chan<- prometheus.Metric, metrics []metric[S], s *S, labels ...string) {
	for _, m := range metrics {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(s), labels...)
	}
}
