// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"strings"
	"testing"

	"tagbus/cmd/internal/rec"
)

func TestWhen(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), msgs(0, alice, 1, 1, 100)...) // 12:00:00.000 to 12:00:00.990
	tests := []struct {
		from string
		want int // messages
	}{
		{"+0s", 100},
		{"+500ms", 50},
		{"12:00", 100},
		{"12:00:00.25", 75},
		{"12:01", 0},
		{"2026-11-24", 100},
		{"2026-11-24T12:00:00.9", 10},
		{"2026-11-24T13:00:00.98+01:00", 2},
	}
	for _, test := range tests {
		status := 0
		if test.want == 0 {
			status = 1 // nothing of what was asked for
		}
		got := b.says("cat a.tbr --from "+test.from, status)
		if n := strings.Count(got.out, "\n"); n != test.want {
			t.Errorf("--from %s: got %d messages, want %d", test.from, n, test.want)
		}
	}
	for _, text := range []string{"", "+", "+3", "soon", "25:00", "-5s"} {
		if err := new(rec.When).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "is no time: want +90s") {
			t.Errorf("%q: got %v, want an error that says the forms", text, err)
		}
	}
}
