// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
)

// losses are the metrics of lost messages: one of each cause, and one of what
// policies leave out on purpose, which is no loss.
type losses struct {
	causes        []cause
	lost, leftOut *prometheus.Desc
}

// cause is a value of the label cause.
type cause struct {
	name  string
	value func(*bus.Losses) uint64
}

var (
	causeFull       = cause{"full", func(l *bus.Losses) uint64 { return l.Full }}
	causeMemory     = cause{"memory", func(l *bus.Losses) uint64 { return l.Memory }}
	causeConnection = cause{"connection", func(l *bus.Losses) uint64 { return l.Connection }}
	causeEnded      = cause{"ended", func(l *bus.Losses) uint64 { return l.Ended }}

	// publisherCauses are all that a publisher counts.
	publisherCauses  = []cause{causeFull, causeMemory, causeConnection}
	subscriberCauses = append(slices.Clone(publisherCauses), causeEnded)
)

// newLosses makes the metrics PREFIX_lost_messages_total and
// PREFIX_left_out_messages_total.
func newLosses(prefix, helpLost, helpLeftOut string, causes []cause, labels ...string) losses {
	return losses{
		causes:  causes,
		lost:    prometheus.NewDesc(prefix+"_lost_messages_total", helpLost, append(slices.Clone(labels), "cause"), nil),
		leftOut: prometheus.NewDesc(prefix+"_left_out_messages_total", helpLeftOut, labels, nil),
	}
}

func (m losses) describe(ch chan<- *prometheus.Desc) {
	ch <- m.lost
	ch <- m.leftOut
}

func (m losses) collect(ch chan<- prometheus.Metric, l *bus.Losses, labels ...string) {
	for _, c := range m.causes {
		ch <- prometheus.MustNewConstMetric(m.lost, prometheus.CounterValue, float64(c.value(l)), append(slices.Clone(labels), c.name)...)
	}
	ch <- prometheus.MustNewConstMetric(m.leftOut, prometheus.CounterValue, float64(l.LeftOut), labels...)
}
