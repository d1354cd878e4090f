package tcp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/netio/tcp"
)

func TestWorkLeftOverComesFirstAndHidesNothing(t *testing.T) {
	want := []int{0, 1, 2, 3, 4}
	for taken := range 4 {
		if diff := cmp.Diff(want, tcp.WorkOrder(3, taken, 2)); diff != "" {
			t.Errorf("order after a turn that ended after %d of 3 (-want +got):\n%s", taken, diff)
		}
	}
}
