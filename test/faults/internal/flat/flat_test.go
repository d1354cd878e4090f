// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"math"
	"testing"
	"time"

	"tagbus/test/faults/internal/flat"
)

func TestSeries_Trend(t *testing.T) {
	tests := []struct {
		name    string
		value   func(second int) float64
		perHour float64
	}{
		{"what stays has no slope", func(int) float64 { return 7 }, 0},
		{"what grows steadily has its slope", func(s int) float64 { return float64(s) }, 3600},
		{"a saw between two levels has none", func(s int) float64 { return float64(s % 37) }, 0},
		{"a leak below a saw shows", func(s int) float64 { return float64(s)/10 + float64(s%37) }, 360},
		{"one peak is no slope", func(s int) float64 { return map[bool]float64{true: 1000, false: 5}[s > 700 && s < 750] }, 0},
		{"what grows while it warms up only has none", func(s int) float64 { return float64(min(s, 60)) }, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s flat.Series
			for second := range 1000 {
				s.Add(time.Duration(second)*time.Second, test.value(second))
			}
			trend, enough := s.Trend(time.Minute, time.Minute)
			if !enough || math.Abs(trend.PerHour-test.perHour) > 20 {
				t.Errorf("got %+v (%v), want %v an hour", trend, enough, test.perHour)
			}
		})
	}
}

func TestSeries_Trend_needsTime(t *testing.T) {
	var s flat.Series
	for second := range 100 {
		s.Add(time.Duration(second)*time.Second, 1)
	}
	if trend, enough := s.Trend(time.Minute, time.Minute); enough {
		t.Errorf("got %+v of 40 seconds behind the first minute, want none", trend)
	}
}

// TestSeries_Add_keepsFewSamples: a day of seconds has the slope that it had with all samples.
func TestSeries_Add_keepsFewSamples(t *testing.T) {
	var s flat.Series
	for second := range 86400 {
		s.Add(time.Duration(second)*time.Second, float64(second))
	}
	trend, enough := s.Trend(time.Minute, time.Hour)
	if !enough || math.Abs(trend.PerHour-3600) > 1 || trend.Max != 86399 || math.Abs(trend.Growth()-86340) > 200 {
		t.Errorf("got %+v (%v), which grows by %v, want 3600 an hour over a day", trend, enough, trend.Growth())
	}
}
