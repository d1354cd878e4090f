package bus_test

import (
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus"
)

// TestModelInTheSmallestSlices is TestModel for a subscriber that does one thing at a
// time: whatever can come between two slices of its work does.
func TestModelInTheSmallestSlices(t *testing.T) {
	defer bus.SetSliceSteps(1)()
	rapid.Check(t, func(rt *rapid.T) {
		for _, p := range modelCases().Draw(rt, "case").run(t) {
			rt.Error(p)
		}
	})
}
