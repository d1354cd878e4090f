// SPDX-License-Identifier: Apache-2.0

package trouble_test

import (
	"fmt"
	"testing"
	"time"

	"tagbus/netio/internal/trouble"
)

// TestTrouble_isToldRarely fails ten times a second for an hour.
func TestTrouble_isToldRarely(t *testing.T) {
	clock := time.Unix(1_700_000_000, 0)
	trouble := trouble.Trouble{Clock: func() time.Time { return clock }}
	if _, _, over := trouble.End(); over {
		t.Error("End before any failure: got a line, want none")
	}
	began := clock
	var told []time.Duration
	for clock.Sub(began) < time.Hour {
		if failed, tell := trouble.Fail(); tell {
			at := clock.Sub(began)
			told = append(told, at)
			if want := uint64(at/(100*time.Millisecond)) + 1; failed != want {
				t.Errorf("at %v: got %d failures, want %d", at, failed, want)
			}
		}
		clock = clock.Add(100 * time.Millisecond)
	}
	want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second, 63 * time.Second}
	for at := want[len(want)-1] + time.Minute; at < time.Hour; at += time.Minute {
		want = append(want, at)
	}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("lines: got at %v, want at %v", told, want)
	}
	failed, lasted, over := trouble.End()
	if !over || failed != 36_000 || lasted != time.Hour {
		t.Errorf("End: got %d failures in %v, %v, want 36000 in 1h0m0s", failed, lasted, over)
	}
	if _, _, over := trouble.End(); over {
		t.Error("second End: got a line, want none")
	}
	clock = clock.Add(3 * time.Minute) // of peace
	if failed, tell := trouble.Fail(); !tell || failed != 1 {
		t.Errorf("first failure after a while: got %d and %v, want 1 at once", failed, tell)
	}
	clock = clock.Add(time.Second)
	if _, tell := trouble.Fail(); !tell {
		t.Error("a second later: got no line, want one: the pause is short again")
	}
}

// TestTrouble_thatComesAndGoesIsToldRarely: trouble that is over ten times a second must
// not be reported so often either, and no failure is left out of the counts.
func TestTrouble_thatComesAndGoesIsToldRarely(t *testing.T) {
	clock := time.Unix(1_700_000_000, 0)
	trouble := trouble.Trouble{Clock: func() time.Time { return clock }}
	lines, ends, counted := 0, 0, uint64(0)
	for range 36_000 {
		if _, tell := trouble.Fail(); tell {
			lines++
		}
		if failed, _, over := trouble.End(); over {
			ends++
			counted += failed
		}
		clock = clock.Add(100 * time.Millisecond)
	}
	if lines < 60 || lines > 70 || ends != lines {
		t.Errorf("lines in an hour: got %d, and %d of the end, want 60 to 70 of each", lines, ends)
	}
	if counted < 35_000 {
		t.Errorf("failures told: got %d, want all of 36000 but those since the last line", counted)
	}
}
