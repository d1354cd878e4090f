// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/bus/metrics"
)

// measured is a directory with given Stats.
type measured struct {
	directory.Directory
	stats directory.Stats
}

func (m *measured) Stats() directory.Stats { return m.stats }

func TestOfDirectory(t *testing.T) {
	d := &measured{stats: directory.Stats{
		Entries: 7, Registrations: 2, Problems: 1, Up: true, Looks: 3, WatchRestarts: 4, Leases: 5,
		Requests: []directory.RequestStats{{Kind: "keepalive", Done: 11, Failures: 1}, {Kind: "put", Done: 12}},
	}}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.OfDirectory(d))
	const want = `
		# HELP tagbus_directory_failures_total Requests to the directory's servers that were refused or not answered, by kind; absent without servers.
		# TYPE tagbus_directory_failures_total counter
		tagbus_directory_failures_total{kind="keepalive"} 1
		tagbus_directory_failures_total{kind="put"} 0
		# HELP tagbus_directory_requests_total Requests to the directory's servers that were answered, by kind; absent without servers.
		# TYPE tagbus_directory_requests_total counter
		tagbus_directory_requests_total{kind="keepalive"} 11
		tagbus_directory_requests_total{kind="put"} 12
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "tagbus_directory_failures_total", "tagbus_directory_requests_total"); err != nil {
		t.Error(err)
	}
	checkValues(t, registry, map[string]float64{
		"up": 1, "entries": 7, "registrations": 2, "problems": 1, "looks_total": 3, "watch_restarts_total": 4, "leases_total": 5,
	})
	d.stats = directory.Stats{LastContact: time.Now().Add(-time.Minute)}
	checkValues(t, registry, map[string]float64{"up": 0, "entries": 0})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if seconds := f.GetMetric()[0].GetGauge().GetValue(); f.GetName() == "tagbus_directory_last_contact_seconds" && (seconds < 60 || seconds > 90) {
			t.Errorf("got a last contact %v s ago, want one a minute ago", seconds)
		}
	}
}

// checkValues compares metrics of directories without labels.
func checkValues(t *testing.T, g prometheus.Gatherer, want map[string]float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		m := f.GetMetric()[0]
		got[strings.TrimPrefix(f.GetName(), "tagbus_directory_")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	for name, value := range want {
		if v, ok := got[name]; !ok || v != value {
			t.Errorf("%s: got %v, %v, want %v", name, v, ok, value)
		}
	}
}

func TestADirectoryWithoutStatsHasNoMetrics(t *testing.T) {
	if n := testutil.CollectAndCount(metrics.OfDirectory(memory.New())); n != 0 {
		t.Errorf("got %d metrics, want none", n)
	}
}
