// SPDX-License-Identifier: Apache-2.0

package workqueue_test

import (
	"slices"
	"testing"

	"tagbus/bus/internal/workqueue"
)

func TestEach(t *testing.T) {
	var seen []int
	job := workqueue.Each([]int{1, 2, 3, 4}, func(v int) (steps int) {
		seen = append(seen, v)
		return v
	})
	for i, want := range []struct {
		budget, steps int
		done          bool
		seen          []int
	}{
		{4, 4, false, []int{4}},
		{4, 5, false, []int{4, 3, 2}},
		{0, 0, false, []int{4, 3, 2}},
		{9, 1, true, []int{4, 3, 2, 1}},
		{9, 0, true, []int{4, 3, 2, 1}},
	} {
		steps, done := job(want.budget)
		if steps != want.steps || done != want.done || !slices.Equal(seen, want.seen) {
			t.Errorf("slice %d: got %d steps, done %v, %v, want %+v", i, steps, done, seen, want)
		}
	}
}
