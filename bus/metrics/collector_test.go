// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"tagbus/bus"
	"tagbus/bus/metrics"
)

// number gives each numeric field of a struct a value of its own, from first on,
// and returns these values by field name.
func number(s any, first int) map[string]int {
	values := make(map[string]int)
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(int64(first))
		case reflect.Uint64:
			f.SetUint(uint64(first))
		case reflect.Struct:
			switch l := f.Addr().Interface().(type) {
			case *bus.Losses, *bus.Dropped:
				for field, value := range number(l, first) {
					values[v.Type().Field(i).Name+"."+field] = value
				}
				first += f.NumField()
			}
			continue
		default:
			continue
		}
		values[v.Type().Field(i).Name] = first
		first++
	}
	return values
}

// filled returns collectors of counters that are all different.
func filled() (collectors []prometheus.Collector, values []map[string]int) {
	var pub bus.PublisherStats
	var link bus.SubscriberState
	var sub bus.SubscriberStats
	var lane bus.LaneState
	values = append(values, number(&pub, 101), number(&link, 201), number(&sub, 301), number(&lane, 401))
	pub.EntryFailing = true
	lane.Policy = bus.Policy{Kind: bus.DropOldest}
	link.Lanes = []bus.LaneState{lane}
	link.Peer = bus.Peer{Instance: "subA", Name: "readout", Host: "pc-07", PID: 4711, Addr: netip.MustParseAddrPort("10.0.0.2:40000"), Backend: "tcp"}
	pub.Subscribers = []bus.SubscriberState{link}
	sub.ByBackend = []bus.BackendCount{{Backend: "tcp", Connections: 3}, {Backend: "shm"}}
	return []prometheus.Collector{
		metrics.OfPublisher(func() bus.PublisherStats { return pub }),
		metrics.OfSubscriber(func() bus.SubscriberStats { return sub }),
	}, values
}

// filledAll returns those of both directions.
func filledAll() []prometheus.Collector {
	collectors, _ := filled()
	more, _ := filledBoth()
	return append(collectors, more...)
}

// gather returns name{labels} and value of each metric.
func gather(t *testing.T, collectors ...prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectors...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := f.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return got
}

func TestEachMetricHasItsCounter(t *testing.T) {
	const peer = "{host=pc-07,name=readout}"
	collectors, values := filled()
	const ofLane = "host=pc-07,name=readout,policy=drop-oldest}"
	pub, link, sub, lane := values[0], values[1], values[2], values[3]
	want := map[string]float64{
		"tagbus_publisher_messages_total":                float64(pub["Messages"]),
		"tagbus_publisher_payload_bytes_total":           float64(pub["Bytes"]),
		"tagbus_publisher_refusals_total":                float64(pub["Refusals"]),
		"tagbus_publisher_unconfirmed_messages":          float64(pub["Unconfirmed"]),
		"tagbus_publisher_dropped_messages_total":        float64(pub["Dropped.Overflowed"] + pub["Dropped.Panicked"]),
		"tagbus_publisher_strangers_total":               float64(pub["Strangers"]),
		"tagbus_publisher_silent_subscribers_total":      float64(pub["Silent"]),
		"tagbus_publisher_stalled_subscribers_total":     float64(pub["Stalled"]),
		"tagbus_publisher_subscribers":                   1,
		"tagbus_publisher_broken_connections_total":      float64(pub["Broken"]),
		"tagbus_publisher_own_stalls_total":              float64(pub["OwnStalls"]),
		"tagbus_publisher_not_allowed_total":             float64(pub["NotAllowed"]),
		"tagbus_publisher_entry_failing":                 1,
		"tagbus_publisher_subscriber_connections" + peer: 1,
		"tagbus_publisher_subscriber_info{addr=10.0.0.2:40000,host=pc-07,name=readout,subscriber=subA}": 1,
		"tagbus_publisher_streams":                               float64(pub["Streams"]),
		"tagbus_publisher_pool_pages":                            float64(pub["Pages"]),
		"tagbus_publisher_pool_free_pages":                       float64(pub["PagesFree"]),
		"tagbus_publisher_pool_min_free_pages":                   float64(pub["MinPagesFree"]),
		"tagbus_publisher_cached_messages":                       float64(pub["Cached"]),
		"tagbus_publisher_cached_bytes":                          float64(pub["CachedBytes"]),
		"tagbus_publisher_awaited_subscribers":                   float64(pub["Awaited"]),
		"tagbus_publisher_replayed_messages_total":               float64(pub["Replayed"]),
		"tagbus_publisher_subscriber_free_sends" + peer:          float64(link["SendsFree"]),
		"tagbus_publisher_subscriber_min_free_sends" + peer:      float64(link["MinSendsFree"]),
		"tagbus_publisher_lost_messages_total{cause=full}":       float64(pub["Losses.Full"]),
		"tagbus_publisher_lost_messages_total{cause=memory}":     float64(pub["Losses.Memory"]),
		"tagbus_publisher_lost_messages_total{cause=connection}": float64(pub["Losses.Connection"]),
		"tagbus_publisher_left_out_messages_total":               float64(pub["Losses.LeftOut"]),

		"tagbus_publisher_subscriber_queued_bytes{" + ofLane:                          float64(lane["Queued"]),
		"tagbus_publisher_subscriber_queue_limit_bytes{" + ofLane:                     float64(lane["Limit"]),
		"tagbus_publisher_subscriber_unconfirmed_messages{" + ofLane:                  float64(lane["Unconfirmed"]),
		"tagbus_publisher_subscriber_lost_messages_total{" + at("full", ofLane):       float64(lane["Losses.Full"]),
		"tagbus_publisher_subscriber_lost_messages_total{" + at("memory", ofLane):     float64(lane["Losses.Memory"]),
		"tagbus_publisher_subscriber_lost_messages_total{" + at("connection", ofLane): float64(lane["Losses.Connection"]),
		"tagbus_publisher_subscriber_left_out_messages_total{" + ofLane:               float64(lane["Losses.LeftOut"]),

		"tagbus_publisher_subscriber_sent_messages_total" + peer:  float64(link["Messages"]),
		"tagbus_publisher_subscriber_sent_bytes_total" + peer:     float64(link["Bytes"]),
		"tagbus_publisher_subscriber_sent_pages_total" + peer:     float64(link["Pages"]),
		"tagbus_publisher_subscribers_by_backend{backend=tcp}":    1,
		"tagbus_subscriber_publishers_by_backend{backend=tcp}":    3,
		"tagbus_subscriber_publishers_by_backend{backend=shm}":    0,
		"tagbus_subscriber_publishers":                            float64(sub["Publishers"]),
		"tagbus_subscriber_messages_total":                        float64(sub["Messages"]),
		"tagbus_subscriber_payload_bytes_total":                   float64(sub["Bytes"]),
		"tagbus_subscriber_pages_total":                           float64(sub["Pages"]),
		"tagbus_subscriber_lost_messages_total{cause=full}":       float64(sub["Losses.Full"]),
		"tagbus_subscriber_lost_messages_total{cause=memory}":     float64(sub["Losses.Memory"]),
		"tagbus_subscriber_lost_messages_total{cause=connection}": float64(sub["Losses.Connection"]),
		"tagbus_subscriber_lost_messages_total{cause=ended}":      float64(sub["Losses.Ended"]),
		"tagbus_subscriber_left_out_messages_total":               float64(sub["Losses.LeftOut"]),
		"tagbus_subscriber_overflowed_messages_total":             float64(sub["Overflowed"]),
		"tagbus_subscriber_unwanted_messages_total":               float64(sub["Unwanted"]),
		"tagbus_subscriber_panics_total":                          float64(sub["Panics"]),
		"tagbus_subscriber_silent_publishers_total":               float64(sub["Silent"]),
		"tagbus_subscriber_broken_connections_total":              float64(sub["Broken"]),
		"tagbus_subscriber_own_stalls_total":                      float64(sub["OwnStalls"]),
		"tagbus_subscriber_not_allowed_total":                     float64(sub["NotAllowed"]),
		"tagbus_subscriber_retained_messages":                     float64(sub["Retained"]),
		"tagbus_subscriber_retained_bytes":                        float64(sub["RetainedBytes"]),
		"tagbus_subscriber_retain_refusals_total":                 float64(sub["RetainRefused"]),
	}
	if diff := cmp.Diff(want, gather(t, collectors...)); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
	}
}

// at adds the label cause.
func at(cause, labels string) string { return "cause=" + cause + "," + labels }

// TestEachCounterHasItsMetric fails when the bus counts something new of which
// Prometheus does not hear.
func TestEachCounterHasItsMetric(t *testing.T) {
	collectors, values := filled()
	left := map[int]bool{
		values[0]["Losses.Ended"]:       true, // only a subscriber knows
		values[1]["Parts"]:              true, // says what a subscriber asked for, not how it is doing
		values[1]["Queued"]:             true, // the lanes' together
		values[1]["Limit"]:              true, // the lanes have theirs
		values[2]["Lost"]:               true, // the causes together
		values[2]["LeftOut"]:            true, // in Losses, too
		values[3]["Parts"]:              true,
		values[3]["ID"]:                 true, // no count
		values[3]["Sent"]:               true, // there is one for all lanes
		values[3]["Losses.Ended"]:       true,
		values[0]["Dropped.Overflowed"]: true, // there is one for both causes
		values[0]["Dropped.Panicked"]:   true, // there is one for both causes
		values[3]["Dropped.Overflowed"]: true, // the peer has its own metric; tagbus losses names it
		values[3]["Dropped.Panicked"]:   true, // the peer has its own metric; tagbus losses names it
	}
	var shown []float64
	for _, v := range gather(t, collectors...) {
		shown = append(shown, v)
	}
	for _, fields := range values {
		for field, value := range fields {
			if got, want := slices.Contains(shown, float64(value)), !left[value]; got != want {
				t.Errorf("%s: got a metric: %v, want %v", field, got, want)
			}
		}
	}
}

func TestNamesAndHelpPassLint(t *testing.T) {
	collectors := filledAll()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectors...)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if len(f.GetHelp()) < 20 || !strings.HasSuffix(f.GetHelp(), ".") {
			t.Errorf("%s: got help %q, want whole sentences", f.GetName(), f.GetHelp())
		}
	}
}

// TestNamesOfStrangers lets a subscriber call itself what it likes.
func TestNamesOfStrangers(t *testing.T) {
	tests := []struct{ name, given, want string }{
		{"bytes that are no UTF-8 are escaped", "read\xffout\xc3", `read\xffout\xc3`},
		{"quotes stay, line feeds do not", "a\"b\nc\\", `a"b; c\`},
		{"what clears a screen is escaped", "\x1b[2J\u202e", `\x1b[2J\u202e`},
		{"no name", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			stats := bus.PublisherStats{Subscribers: []bus.SubscriberState{{Messages: 7, Peer: bus.Peer{
				Instance: test.given, Name: test.given, Host: test.given, Addr: netip.MustParseAddrPort("[::1]:5"),
			}}}}
			got := gather(t, metrics.OfPublisher(func() bus.PublisherStats { return stats }))
			want := "{host=" + test.want + ",name=" + test.want + "}"
			if got["tagbus_publisher_subscriber_sent_messages_total"+want] != 7 {
				t.Errorf("got %v, want the labels %q in it", got, want)
			}
			want = "{addr=[::1]:5,host=" + test.want + ",name=" + test.want + ",subscriber=" + test.want + "}"
			if got["tagbus_publisher_subscriber_info"+want] != 1 {
				t.Errorf("got %v, want the labels %q in it", got, want)
			}
		})
	}
}

func TestTwoPublishersInOneRegistry(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, name := range []string{"a", "b"} {
		collectors, _ := filled()
		if err := prometheus.WrapRegistererWith(prometheus.Labels{"publisher": name}, registry).Register(collectors[0]); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := testutil.GatherAndCount(registry, "tagbus_publisher_messages_total", "tagbus_publisher_subscriber_queued_bytes"); err != nil || n != 4 {
		t.Errorf("got %d metrics and %v, want 4", n, err)
	}
}
