package tcp

import "testing"

// eager is a worker that always has more to do.
type eager struct{ l *worklist }

func (w *eager) work() { w.l.put(w) }

// The list grew as long as turns ended with work left.
func TestTheWorklistStaysAsLongAsThereAreWorkers(t *testing.T) {
	const workers, perTurn = 40, 32
	var l worklist
	for range workers {
		l.put(&eager{&l})
	}
	for range 10_000 {
		l.refill()
		for i := 0; i < perTurn && l.left() > 0; i++ {
			l.take().work()
		}
	}
	if got := cap(l.emptying); got > 10*workers {
		t.Errorf("places for %d workers: got %d, want a few times as many", workers, got)
	}
}
