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

func TestInTurns(t *testing.T) {
	for _, ended := range []bool{false, true} {
		var posted []func()
		post := func(f func()) bool {
			if !ended {
				posted = append(posted, f)
			}
			return !ended
		}
		var got []int
		done := 0
		workqueue.InTurns(post, []int{1, 2, 3, 4, 5}, 2, func(n int) { got = append(got, n) }, func() { done++ })
		for turn := 1; !ended && turn < 3; turn++ {
			if len(got) != 2*turn || done > 0 {
				t.Errorf("after %d turns: got %v, done %d; want 2 in each", turn, got, done)
			}
			f := posted[0]
			posted = posted[1:]
			f()
		}
		if !slices.Equal(got, []int{5, 4, 3, 2, 1}) || done != 1 || len(posted) > 0 {
			t.Errorf("ended %v: got %v, done %d, and %d posted; want all, once", ended, got, done, len(posted))
		}
	}
}
