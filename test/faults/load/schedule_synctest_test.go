// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/test/faults/internal/check"
)

// TestSchedule: each tag has its rate, the first of a run a multiple, and what is late for long is not made up for.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule{rate: 10, fast: 3, begun: time.Now(), before: make([]uint64, 2)}
		run := make([]check.Sent, 2)
		publish := func() {
			for i := range run {
				for s.now(i, &run[i]) {
					run[i].Accepted++
				}
			}
		}
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			publish()
			s.forgive(run)
		}
		if run[0].Accepted != 60 || run[1].Accepted != 20 {
			t.Errorf("after 2 s: got %d and %d messages, want 60 and 20", run[0].Accepted, run[1].Accepted)
		}
		time.Sleep(time.Minute)
		s.forgive(run)
		publish()
		if run[0].Accepted != 60 || run[1].Accepted != 20 {
			t.Errorf("after a minute in which it was held up: got %d and %d messages, want 60 and 20", run[0].Accepted, run[1].Accepted)
		}
	})
}
