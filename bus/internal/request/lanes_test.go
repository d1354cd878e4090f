// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"slices"
	"testing"

	"tagbus/bus/internal/request"
)

// What is treated alike has the same lane, also when there is no room for another one.
func TestLanes(t *testing.T) {
	var l request.Lanes[string]
	for _, test := range []struct {
		treated string
		number  uint16
		ok      bool
	}{{"block", 0, true}, {"latest", 1, true}, {"block", 0, true}, {"sample", 0, false}, {"latest", 1, true}} {
		if number, ok := l.Number(test.treated, 2); number != test.number || ok != test.ok {
			t.Errorf("%s: got %d, %v, want %d, %v", test.treated, number, ok, test.number, test.ok)
		}
	}
	if got, want := l.All(), []string{"block", "latest"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
