package metrics

import "github.com/prometheus/client_golang/prometheus"

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
