// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
)

func TestADoneThatPanicsKeepsNoOtherPayload(t *testing.T) {
	loop := &modelLoop{}
	b := &loans{loop: loop}
	var called []int
	for i := range 3 {
		b.add(func() {
			if called = append(called, i); i == 0 {
				panic("the user's")
			}
		})
	}
	func() {
		defer func() { _ = recover() }()
		b.settle()
	}()
	b.settle() // as Close does
	if len(called) != 3 || len(loop.posted) != 1 {
		t.Errorf("got calls %v and %d posts, want each once and 1 post", called, len(loop.posted))
	}
}

func TestADoneThatGivesBackMoreLetsTheLoopGoOn(t *testing.T) {
	loop := &modelLoop{}
	b := &loans{loop: loop}
	calls := 0
	var again func()
	again = func() {
		if calls++; calls < 5 {
			b.add(again)
		}
	}
	b.add(again)
	for want := 1; want <= 5; want++ {
		if b.settle(); calls != want || len(loop.posted) != min(want+1, 5) {
			t.Fatalf("turn %d: got %d calls and %d posts, want %d and %d", want, calls, len(loop.posted), want, min(want+1, 5))
		}
	}
}
