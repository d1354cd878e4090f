// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus/directory"
)

// directoryMetrics are those without a label.
var directoryMetrics = []metric[directory.Stats]{
	state("tagbus_directory_up", "1 while the directory's storage answers, else 0. Connections that exist go on, but nobody new is found: look after the folder or the servers.", func(s *directory.Stats) bool { return s.Up }),
	gauge("tagbus_directory_entries", "Publishers and receivers that the directory has, as far as this process looks.", nil, func(s *directory.Stats) int { return s.Entries }),
	gauge("tagbus_directory_registrations", "Entries that this process has announced and not withdrawn.", nil, func(s *directory.Stats) int { return s.Registrations }),
	gauge("tagbus_directory_problems", "Problems of the directory that persist. The log names them.", nil, func(s *directory.Stats) int { return s.Problems }),
	counter("tagbus_directory_looks_total", "Looks at the whole directory. With servers it grows when changes were missed, as after an outage.", nil, func(s *directory.Stats) uint64 { return s.Looks }),
	counter("tagbus_directory_watch_restarts_total", "How often the notices of changes ended and began again. When it grows steadily, look at the servers and the network to them.", nil, func(s *directory.Stats) uint64 { return s.WatchRestarts }),
	counter("tagbus_directory_leases_total", "Leases that the servers granted to this process. One is enough: when it grows, the process or its network stood still for longer than the expiry.", nil, func(s *directory.Stats) uint64 { return s.Leases }),
}

var (
	directoryContact  = prometheus.NewDesc("tagbus_directory_last_contact_seconds", "How long ago the directory's storage answered last, seconds; absent until it does.", nil, nil)
	directoryRequests = prometheus.NewDesc("tagbus_directory_requests_total", "Requests to the directory's servers that were answered, by kind; absent without servers.", []string{"kind"}, nil)
	directoryFailures = prometheus.NewDesc("tagbus_directory_failures_total", "Requests to the directory's servers that were refused or not answered, by kind; absent without servers.", []string{"kind"}, nil)
)

// OfDirectory returns the metrics of a directory: tagbus_directory_. One that has no Stats,
// as that in memory, has none.
//
//   - Threads: any, also while the directory is used and after it was closed.
func OfDirectory(d directory.Directory) prometheus.Collector {
	reporter, _ := d.(directory.StatsReporter)
	return directoryCollector{reporter, time.Now}
}

// directoryCollector shows the Stats of a directory.
type directoryCollector struct {
	of  directory.StatsReporter // nil: it has none
	now func() time.Time
}

// Describe implements prometheus.Collector.
func (c directoryCollector) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, directoryMetrics)
	for _, d := range []*prometheus.Desc{directoryContact, directoryRequests, directoryFailures} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c directoryCollector) Collect(ch chan<- prometheus.Metric) {
	if c.of == nil {
		return
	}
	s := c.of.Stats()
	collect(ch, directoryMetrics, &s)
	if !s.LastContact.IsZero() {
		ch <- prometheus.MustNewConstMetric(directoryContact, prometheus.GaugeValue, c.now().Sub(s.LastContact).Seconds())
	}
	for _, r := range s.Requests {
		ch <- prometheus.MustNewConstMetric(directoryRequests, prometheus.CounterValue, float64(r.Done), r.Kind)
		ch <- prometheus.MustNewConstMetric(directoryFailures, prometheus.CounterValue, float64(r.Failures), r.Kind)
	}
}
