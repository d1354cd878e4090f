// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
	"time"
)

// A few sends that were preempted do not end direct sends for good.
func TestPreemptedSendsToSomeLanesAreForgotten(t *testing.T) {
	for _, lanes := range []int{1, 2, 3, 4, 5} {
		b := newPaceBed(t, lanes)
		b.sendCost = func() time.Duration { return 500 * us }
		for range 3 {
			b.publish(0)
			b.turn()
			b.wait(time.Millisecond)
		}
		b.sendCost = func() time.Duration { return 3 * us }
		for range 10000 {
			b.publish(0)
			b.turn()
			b.wait(time.Millisecond)
		}
		b.direct = 0
		if b.publish(time.Millisecond); b.direct != lanes {
			t.Errorf("%d lanes: %d direct sends; they count as %v", lanes, b.direct, time.Duration(b.s.cost))
		}
	}
}
