// SPDX-License-Identifier: Apache-2.0

package handover

import "testing"

// eager is a worker that always has more to do.
type eager struct{ l *Worklist }

func (w *eager) Work() { w.l.Put(w) }

// The list grew as long as turns ended with work left.
func TestTheWorklistStaysAsLongAsThereAreWorkers(t *testing.T) {
	const workers, perTurn = 40, 32
	var l Worklist
	for range workers {
		l.Put(&eager{&l})
	}
	for range 10_000 {
		l.Refill()
		for i := 0; i < perTurn && l.Left() > 0; i++ {
			l.Take().Work()
		}
	}
	if got := cap(l.emptying); got > 10*workers {
		t.Errorf("places for %d workers: got %d, want a few times as many", workers, got)
	}
}
