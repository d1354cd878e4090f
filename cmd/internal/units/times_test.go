// SPDX-License-Identifier: Apache-2.0

package units_test

import (
	"testing"
	"time"

	"tagbus/cmd/internal/units"
)

func TestFormatAgo(t *testing.T) {
	now := time.Date(2026, 11, 23, 19, 5, 12, 0, time.Local)
	tests := []struct {
		d    time.Duration
		want string
	}{
		{-time.Hour, "0s ago"},
		{999 * time.Millisecond, "0s ago"},
		{59 * time.Second, "59s ago"},
		{3*time.Minute + 12*time.Second, "3m12s ago"},
		{5*time.Hour + 3*time.Minute + 59*time.Second, "5h3m ago"},
		{24 * time.Hour, "1d0h ago"},
		{55*time.Hour + time.Minute, "2d7h ago"},
	}
	for _, test := range tests {
		if got := units.FormatAgo(now, now.Add(-test.d)); got != test.want {
			t.Errorf("%v: got %q, want %q", test.d, got, test.want)
		}
	}
	if got := units.FormatAgo(now, time.Time{}) + units.FormatTime(time.Time{}); got != "" {
		t.Errorf("got %q of no time, want nothing", got)
	}
	if got, want := units.FormatTime(now), "2026-11-23 19:05:12"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFormatFigure(t *testing.T) {
	tests := []struct {
		n    float64
		want string
	}{
		{0, "0.00"},
		{0.00044, "<0.01"},
		{0.01, "0.01"},
		{1.254, "1.25"},
		{12.34, "12.3"},
		{99.96, "100"},
		{100.4, "100"},
		{1249.5, "1,250"},
		{1e7, "10,000,000"},
	}
	for _, test := range tests {
		if got := units.FormatFigure(test.n); got != test.want {
			t.Errorf("%v: got %q, want %q", test.n, got, test.want)
		}
	}
}
