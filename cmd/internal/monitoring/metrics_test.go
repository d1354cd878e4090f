// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/bus/metrics"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/latency"
	"tagbus/netio"
)

// foreign are the metrics of Prometheus, and of the libraries, that the files use, with
// the labels that they have besides.
var foreign = map[string][]string{
	"up": nil, "ALERTS": {"alertname", "alertstate"}, "process_cpu_seconds_total": nil,
}

// answering is a directory on servers that answer.
type answering struct{ directory.Directory }

func (answering) Stats() directory.Stats {
	return directory.Stats{LastContact: time.Now(), Requests: []directory.RequestStats{{Kind: "put"}}}
}

// exported returns the metrics of all commands, with their labels.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	peers := []bus.SubscriberState{{
		Peer:  bus.Peer{Addr: netip.MustParseAddrPort("10.0.0.1:1"), Backend: "tcp"},
		Lanes: []bus.LaneState{{}}, Path: new(netio.Path),
	}}
	by := []bus.BackendCount{{Backend: "tcp", Connections: 1}}
	var h latency.Histogram
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(
		metrics.OfPublisher(func() bus.PublisherStats { return bus.PublisherStats{Subscribers: peers} }),
		metrics.OfSender(func() bus.SenderStats {
			return bus.SenderStats{PublisherStats: bus.PublisherStats{Subscribers: peers}}
		}),
		metrics.OfSubscriber(func() bus.SubscriberStats { return bus.SubscriberStats{ByBackend: by} }),
		metrics.OfReceiver(func() bus.SubscriberStats { return bus.SubscriberStats{ByBackend: by} }),
		metrics.OfDirectory(answering{memory.New()}),
		metrics.OfBuild(""), latency.NewCollector(&h), cli.CertificateEnd(time.Now), cli.AccessFailing(func() bool { return true }),
	)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(foreign)
	for _, f := range families {
		labels := []string{"job", "instance"} // of the target
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		all[f.GetName()] = labels
		if f.GetType() == dto.MetricType_HISTOGRAM {
			all[f.GetName()+"_bucket"] = append(slices.Clone(labels), "le")
		}
	}
	return all
}

// TestTheReferenceListsTheMetrics keeps docs/reference.md complete. The table of the bridge, another module, has
// a test there.
func TestTheReferenceListsTheMetrics(t *testing.T) {
	listed := make(map[string]bool)
	for _, name := range matches("(?m)^\\| `(tagbus_\\w+)`", read(t, reference)) {
		if !strings.HasPrefix(name, "tagbus_bridge_") {
			listed[name] = true
		}
	}
	want := make(map[string]bool)
	for name := range exported(t) {
		if _, other := foreign[name]; !other && !strings.HasSuffix(name, "_bucket") {
			want[name] = true
		}
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("the tables of docs/reference.md differ from the metrics (-want +got):\n%s", diff)
	}
}

// unknown returns the names in an expression that none of known exports.
func unknown(expr string, known map[string][]string) (names []string) {
	for _, name := range matches(`\b(tagbus_\w+|\w+_total|up|ALERTS)\b`, expr) {
		if _, ok := known[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// withoutLabels returns the selectors of an expression that ask for a label that their
// metric does not have.
func withoutLabels(expr string, known map[string][]string) (wrong []string) {
	for _, selector := range matches(`\b(\w+\{[^}]*\})`, expr) {
		name, rest, _ := strings.Cut(selector, "{")
		for _, label := range matches(`(\w+)\s*(?:=|!)`, rest) {
			if labels := known[name]; labels != nil && !slices.Contains(labels, label) {
				wrong = append(wrong, name+"{"+label+"}")
			}
		}
	}
	return wrong
}

// TestTheFilesNameMetricsThatExist, with labels that they have.
func TestTheFilesNameMetricsThatExist(t *testing.T) {
	known := exported(t)
	d := readDashboard(t)
	texts := map[string]string{rulesFile: read(t, rulesFile), rulesTestFile: read(t, rulesTestFile), dashboardFile: strings.Join(d.expressions(), "\n")}
	for file, text := range texts {
		if names := unknown(text, known); len(names) > 0 {
			t.Errorf("%s: no command exports %q", file, names)
		}
		if wrong := withoutLabels(text, known); len(wrong) > 0 {
			t.Errorf("%s: there is no %q", file, wrong)
		}
	}
	for _, v := range d.Templating.List {
		if names := unknown(v.Definition, known); len(names) > 0 {
			t.Errorf("variable %s: no command exports %q", v.Name, names)
		}
	}
	labels := slices.Concat(slices.Collect(maps.Values(known))...)
	for file, text := range map[string]string{
		rulesFile:     strings.Join(matches(`\$labels\.(\w+)`, texts[rulesFile]), " "),
		dashboardFile: strings.Join(matches(`\{\{(\w+)\}\}`, read(t, dashboardFile)), " "),
	} {
		for _, label := range strings.Fields(text) {
			if !slices.Contains(labels, label) {
				t.Errorf("%s: no metric has the label %s", file, label)
			}
		}
	}
}

// TestUnknown: the check finds what it is for.
func TestUnknown(t *testing.T) {
	known := map[string][]string{"tagbus_a_total": {"job", "cause"}, "up": nil}
	const expr = `rate(tagbus_a_total{cause="x", name!="y"}[5m]) or tagbus_b or up{job="tagbus_c"} or go_d_total`
	if got, want := unknown(expr, known), []string{"tagbus_b", "tagbus_c", "go_d_total"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := withoutLabels(expr, known), []string{"tagbus_a_total{name}"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
