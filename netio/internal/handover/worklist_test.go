// SPDX-License-Identifier: Apache-2.0

package handover_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/netio/internal/handover"
)

// numbered is a worker that notes that it was there.
type numbered struct {
	n     int
	order *[]int
}

func (n *numbered) Work() { *n.order = append(*n.order, n.n) }

// workOrder returns the order in which a worklist gives out what was put there,
// when a turn is left in the middle after taken of the first.
func workOrder(first, taken, second int) (order []int) {
	var l handover.Worklist
	for i := range first {
		l.Put(&numbered{i, &order})
	}
	l.Refill()
	for range taken {
		l.Take().Work()
	}
	for i := range second {
		l.Put(&numbered{first + i, &order})
	}
	l.Refill()
	for l.Left() > 0 {
		l.Take().Work()
	}
	return order
}

func TestWorkLeftOverComesFirstAndHidesNothing(t *testing.T) {
	want := []int{0, 1, 2, 3, 4}
	for taken := range 4 {
		if diff := cmp.Diff(want, workOrder(3, taken, 2)); diff != "" {
			t.Errorf("order after a turn that ended after %d of 3 (-want +got):\n%s", taken, diff)
		}
	}
}
