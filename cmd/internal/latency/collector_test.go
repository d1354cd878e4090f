// SPDX-License-Identifier: Apache-2.0

package latency_test

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"tagbus/cmd/internal/latency"
)

// shown returns what Prometheus gets of a histogram.
func shown(t *testing.T, h *latency.Histogram) *dto.Histogram {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(latency.NewCollector(h))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 1 || families[0].GetName() != latency.MetricName || len(families[0].GetMetric()) != 1 {
		t.Fatalf("got %v, want one %s", families, latency.MetricName)
	}
	return families[0].GetMetric()[0].GetHistogram()
}

// nativeCounts returns the counts of the native buckets by index, as the format encodes
// them: in spans, each count as its difference to the one before.
func nativeCounts(h *dto.Histogram) map[int]uint64 {
	counts := make(map[int]uint64)
	index, n, delta := 0, int64(0), 0
	for _, span := range h.GetPositiveSpan() {
		index += int(span.GetOffset())
		for range span.GetLength() {
			n += h.GetPositiveDelta()[delta]
			counts[index] = uint64(n)
			index, delta = index+1, delta+1
		}
	}
	return counts
}

func TestCollectorShowsBothForms(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var h latency.Histogram
	var values []time.Duration
	for range 10_000 {
		values = append(values, time.Duration(math.Exp(random.Float64()*25))) // 1 ns to 72 s
	}
	values = append(values, 0, -5, math.MaxInt64)
	sum := 0.0
	for _, v := range values {
		h.Record(v)
		sum += max(v, 0).Seconds()
	}
	got := shown(t, &h)
	if got.GetSampleCount() != uint64(len(values)) || math.Abs(got.GetSampleSum()/sum-1) > 1e-9 {
		t.Errorf("got %d of %v s together, want %d of %v", got.GetSampleCount(), got.GetSampleSum(), len(values), sum)
	}
	if got.GetSchema() != 3 || got.GetZeroCount() != 2 || got.GetZeroThreshold() <= 0 || got.CreatedTimestamp != nil {
		t.Errorf("got schema %d, %d of zero up to %v and created %v, want 3, 2, more than 0 and none",
			got.GetSchema(), got.GetZeroCount(), got.GetZeroThreshold(), got.CreatedTimestamp)
	}
	// What is at most bound, exactly, and what would be with 1/32 more, bound the count.
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	atMost := func(bound float64) uint64 {
		return uint64(sort.Search(len(values), func(i int) bool { return values[i].Seconds() > bound }))
	}
	check := func(form string, bound float64, n uint64) {
		t.Helper()
		if low, high := atMost(bound*(1-1./32)), atMost(bound); n < low || n > high {
			t.Errorf("%s: got %d of at most %v s, want %d to %d", form, n, bound, low, high)
		}
	}
	n := got.GetZeroCount()
	counts := nativeCounts(got)
	for i := -300; i <= 300; i++ {
		n += counts[i]
		check("native", math.Exp2(float64(i)/8), n)
	}
	if n != uint64(len(values)) {
		t.Errorf("native: got %d in all, want %d", n, len(values))
	}
	if len(got.GetBucket()) != 19 {
		t.Errorf("got %d classic buckets, want 19", len(got.GetBucket()))
	}
	for _, b := range got.GetBucket() {
		check("classic", b.GetUpperBound(), b.GetCumulativeCount())
	}
}

// TestCollectorOfNothing: Prometheus takes it for a native histogram all the same,
// because it has a zero bucket.
func TestCollectorOfNothing(t *testing.T) {
	got := shown(t, new(latency.Histogram))
	if got.GetSampleCount() != 0 || got.GetZeroThreshold() <= 0 {
		t.Errorf("got %v, want no sample and a zero bucket", got)
	}
}

func TestCollectorPassesLint(t *testing.T) {
	problems, err := testutil.CollectAndLint(latency.NewCollector(new(latency.Histogram)))
	if err != nil || len(problems) > 0 {
		t.Errorf("got %v, %v, want no problems", problems, err)
	}
	text := latency.NewCollector(new(latency.Histogram))
	ch := make(chan *prometheus.Desc, 1)
	text.Describe(ch)
	if got := (<-ch).String(); !strings.Contains(got, "publisher --stamp, subscriber --verify") {
		t.Errorf("got help %s, want which flags it needs", got)
	}
}
