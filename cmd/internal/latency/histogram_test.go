// SPDX-License-Identifier: Apache-2.0

package latency_test

import (
	"math"
	"testing"
	"time"

	"tagbus/cmd/internal/latency"
)

func TestQuantiles(t *testing.T) {
	tests := []struct {
		name     string
		values   func(record func(time.Duration))
		p50, p99 time.Duration // within 1/32 above
		most     time.Duration
	}{
		{"nothing", func(func(time.Duration)) {}, 0, 0, 0},
		{"one", func(record func(time.Duration)) { record(1234567) }, 1234567, 1234567, 1234567},
		{"below zero", func(record func(time.Duration)) { record(-5) }, 0, 0, 0},
		{"the longest there is", func(record func(time.Duration)) { record(math.MaxInt64) }, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{"1 to 1000 µs", func(record func(time.Duration)) {
			for i := range 1000 {
				record(time.Duration(i+1) * time.Microsecond)
			}
		}, 500 * time.Microsecond, 990 * time.Microsecond, time.Millisecond},
		{"one outlier in a hundred", func(record func(time.Duration)) {
			for range 99 {
				record(10)
			}
			record(time.Second)
		}, 10, 10, time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := new(latency.Histogram)
			n := uint64(0)
			test.values(func(d time.Duration) { h.Record(d); n++ })
			got := h.Recent()
			for _, q := range []struct {
				name      string
				got, want time.Duration
			}{{"p50", got.P50, test.p50}, {"p99", got.P99, test.p99}} {
				if q.got < q.want || q.got-q.want > q.want/32 {
					t.Errorf("%s: got %v, want %v and at most 1/32 more", q.name, q.got, q.want)
				}
			}
			if got.Max != test.most || got.Messages != n {
				t.Errorf("got %d with at most %v, want %d with %v", got.Messages, got.Max, n, test.most)
			}
			if again, total := h.Recent(), h.Total(); again != (latency.Summary{}) || total != got {
				t.Errorf("after that: got %+v and in all %+v, want nothing and %+v", again, total, got)
			}
		})
	}
}
