package bus

import (
	"testing"

	"tagbus/internal/tests"
	"tagbus/netio"
)

// TestRetainingAllocatesNothing: not in the long run, when as much is released
// as is retained.
func TestRetainingAllocatesNothing(t *testing.T) {
	if tests.Race {
		t.Skip("the race detector allocates")
	}
	memory := &heapMemory{1000}
	page := &origin{retainer: newRetainer(1 << 20), keep: func() (netio.Retained, error) { return memory, nil }}
	var held [10]Message
	allocations := testing.AllocsPerRun(1000, func() {
		page.turn.Add(1)
		for i := range held {
			held[i].Release()
			held[i] = Message{origin: page, turn: page.turn.Load(), Data: make([]byte, 0)}
			if err := held[i].Retain(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocations > 1 { // of the memory that is retained first in a page
		t.Errorf("got %v allocations for 10 messages of a page, want at most 1", allocations)
	}
}
