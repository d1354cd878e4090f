// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bridge/out"
)

// metric is one of the metrics of a bridge.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*out.Stats) float64
}

func counter(name, help string, value func(*out.Stats) uint64) metric {
	return metric{prometheus.NewDesc("tagbus_bridge_"+name, help, nil, nil), prometheus.CounterValue, func(s *out.Stats) float64 { return float64(value(s)) }}
}

func gauge(name, help string, value func(*out.Stats) float64) metric {
	return metric{prometheus.NewDesc("tagbus_bridge_"+name, help, nil, nil), prometheus.GaugeValue, value}
}

// all are the metrics of a bridge. The help says what to do when a figure grows.
var all = []metric{
	counter("messages_total", "Messages that the log has acknowledged.", func(s *out.Stats) uint64 { return s.Messages }),
	counter("records_total", "Records that the log has acknowledged.", func(s *out.Stats) uint64 { return s.Records }),
	counter("record_bytes_total", "Bytes of the records that the log has acknowledged.", func(s *out.Stats) uint64 { return s.Bytes }),
	counter("lost_messages_total", "Messages that records name as lost. Read the log for the causes: full means that the log is too slow for the policy.", func(s *out.Stats) uint64 { return s.Lost }),
	counter("passed_messages_total", "Messages that the log had already: from a replay, or from another bridge.", func(s *out.Stats) uint64 { return s.Passed }),
	counter("retries_total", "Appends that were done again. Look at the servers of the log when it grows.", func(s *out.Stats) uint64 { return s.Retries }),
	counter("pauses_total", "How often reading stopped because the log was slow. Make the log faster, or raise --held-bytes for short bursts.", func(s *out.Stats) uint64 { return s.Pauses }),
	gauge("held_bytes", "Bytes that wait for the log or are on their way. At --held-bytes publishers wait, or lose messages.", func(s *out.Stats) float64 { return float64(s.Held) }),
	gauge("spooled_messages", "Messages in the files of --spool. They go to the log when it takes them.", func(s *out.Stats) float64 { return float64(s.Spooled) }),
	gauge("spool_bytes", "Bytes of the files of --spool. At --spool-bytes publishers wait, or lose messages.", func(s *out.Stats) float64 { return float64(s.SpoolBytes) }),
	gauge("chains", "Publishers and tags that the bridge follows.", func(s *out.Stats) float64 { return float64(s.Chains) }),
	gauge("log_away", "1 while the log does not answer. Look at its servers.", func(s *out.Stats) float64 {
		if s.Away {
			return 1
		}
		return 0
	}),
}

// collector serves the metrics of a bridge.
type collector struct{ stats func() out.Stats }

func newCollector(stats func() out.Stats) prometheus.Collector { return collector{stats} }

// Describe implements prometheus.Collector.
func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range all {
		to <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	s := c.stats()
	for _, m := range all {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&s))
	}
}
