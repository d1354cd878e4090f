// SPDX-License-Identifier: Apache-2.0

package workqueue_test

import (
	"testing"

	"tagbus/bus/internal/workqueue"
)

// A job is added once until it begins, and once more while it goes on.
func TestOnce(t *testing.T) {
	var loop turns
	var once workqueue.Once
	q := workqueue.New(loop.post)
	begun, ended := 0, 0
	add := func() {
		once.Add(&q, func() workqueue.Job {
			begun++
			slices := 0
			return func(budget int) (steps int, done bool) {
				if slices++; slices == 2 {
					ended++
				}
				return budget, slices == 2
			}
		})
	}
	expect := func(when string, wantBegun, wantEnded int) {
		t.Helper()
		if begun != wantBegun || ended != wantEnded {
			t.Errorf("%s: begun %d and ended %d, want %d and %d", when, begun, ended, wantBegun, wantEnded)
		}
	}
	q.Add(func(budget int) (int, bool) { return budget, true }) // so that the next one waits
	add()
	add()
	expect("while it waits", 0, 0)
	loop.turn()
	expect("when it begins", 1, 0)
	add()
	add()
	loop.turn()
	expect("when it ends", 1, 1)
	loop.turn()
	loop.turn()
	expect("when the other one ends", 2, 2)
	loop.turn()
	expect("when none is left", 2, 2)
}
