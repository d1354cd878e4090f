// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"slices"
	"testing"
	"time"

	"tagbus/internal/backoff"
)

func TestRemindersComeAfterPausesThatGrow(t *testing.T) {
	var r backoff.Reminder
	begun := time.Now()
	due := func() (all []time.Duration) {
		for after := time.Duration(0); after <= time.Hour; after += 500 * time.Millisecond {
			if r.Due(begun.Add(after)) {
				all = append(all, after)
				if r.Lasted() != after {
					t.Errorf("got that it lasted %v, want %v", r.Lasted(), after)
				}
			}
		}
		return all
	}
	want := []time.Duration{0, 10 * time.Second, 30 * time.Second, 70 * time.Second, 150 * time.Second, 310 * time.Second}
	for range 5 {
		want = append(want, want[len(want)-1]+min(10*time.Minute, want[len(want)-1]+10*time.Second))
	}
	if got := due(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	r = backoff.Reminder{}
	if got := due(); !slices.Equal(got, want) {
		t.Errorf("when it begins anew: got %v, want %v", got, want)
	}
}
