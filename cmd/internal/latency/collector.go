// SPDX-License-Identifier: Apache-2.0

package latency

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// MetricName is the name under which Collector shows a histogram.
const MetricName = "tagbus_message_latency_seconds"

const (
	// schema makes the buckets of the native histogram 2^(1/8) wide, 9 %, three times as
	// wide as those of Histogram.
	schema     = 3
	perDoubled = 1 << schema

	// zeroThreshold is the upper bound of the bucket of durations of zero.
	zeroThreshold = 0.5e-9
)

// classicBounds are the upper bounds of the buckets for a Prometheus that takes no
// native histograms.
var classicBounds = []time.Duration{
	10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond,
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
}

var desc = prometheus.NewDesc(MetricName,
	"Time from the stamp of a message to its arrival here, by the clocks of both hosts: publisher --stamp, subscriber --verify. Less than zero counts as zero. "+
		"If it grows, look whether this program or the publisher is short of processor time, and at the queued bytes of the publisher.",
	nil, nil)

// Collector shows a histogram to Prometheus: as a native histogram, whose buckets are
// 9 % wide, and as a classic one. A duration that lies in a bucket of h across one of
// their bounds counts above it, so that it seems 1/32 longer at most.
//
// The buckets are made at each scrape. Recording costs the same without one.
type Collector struct{ h *Histogram }

// NewCollector returns a collector of h.
func NewCollector(h *Histogram) Collector { return Collector{h} }

// Describe implements prometheus.Collector.
func (Collector) Describe(ch chan<- *prometheus.Desc) { ch <- desc }

// Collect implements prometheus.Collector.
func (c Collector) Collect(ch chan<- prometheus.Metric) {
	c.h.mu.Lock()
	total := c.h.total
	c.h.mu.Unlock()
	ch <- both{total.native(), total.classic()}
}

// both is a histogram in both forms.
type both struct{ native, classic prometheus.Metric }

// Desc implements prometheus.Metric.
func (both) Desc() *prometheus.Desc { return desc }

// Write implements prometheus.Metric.
func (b both) Write(out *dto.Metric) error {
	var classic dto.Metric
	if err := b.classic.Write(&classic); err != nil {
		return err
	}
	if err := b.native.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket = classic.GetHistogram().GetBucket()
	out.Histogram.CreatedTimestamp = nil // else it is the year 1
	return nil
}

// native returns the counts as a native histogram.
func (c *counts) native() prometheus.Metric {
	positive := make(map[int]int64)
	for i, n := range c.buckets {
		if n > 0 && i > 0 {
			positive[nativeBucket(upper(i))] += int64(n)
		}
	}
	m, err := prometheus.NewConstNativeHistogram(desc, c.n, c.sum/1e9, positive, nil, c.buckets[0], schema, zeroThreshold, time.Time{})
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

// nativeBucket returns the index of the bucket of a duration: i has what is above
// 2^((i-1)/8) seconds and not above 2^(i/8).
func nativeBucket(d time.Duration) int {
	return int(math.Ceil(math.Log2(d.Seconds()) * perDoubled))
}

// classic returns the counts as a classic histogram.
func (c *counts) classic() prometheus.Metric {
	cumulative := make(map[float64]uint64, len(classicBounds))
	i, n := 0, uint64(0)
	for _, bound := range classicBounds {
		for ; upper(i) <= bound; i++ {
			n += c.buckets[i]
		}
		cumulative[bound.Seconds()] = n
	}
	return prometheus.MustNewConstHistogram(desc, c.n, c.sum/1e9, cumulative)
}
