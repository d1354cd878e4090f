// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/internal/testkit"
)

func TestRingDoesWhatASliceDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Ring[int]
		var want []int
		next := 1
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					r.Push(next)
					want = append(want, next)
					next++
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					if len(want) == 0 {
						return
					}
					if got := r.Pop(); got != want[0] {
						t.Fatalf("got %d, want %d", got, want[0])
					}
					want = want[1:]
				}
			},
			"push in front": func(*rapid.T) {
				r.PushFront(next)
				want = slices.Insert(want, 0, next)
				next++
			},
			"remove": func(t *rapid.T) {
				if len(want) > 0 {
					i := rapid.IntRange(0, len(want)-1).Draw(t, "i")
					r.Remove(i)
					want = slices.Delete(want, i, i+1)
				}
			},
			"change the front": func(*rapid.T) {
				if len(want) > 0 {
					*r.Front() *= -1
					want[0] *= -1
				}
			},
			"": func(t *rapid.T) {
				if r.Len() != len(want) {
					t.Fatalf("got %d items, want %d", r.Len(), len(want))
				}
				if len(want) > 0 && (*r.Front() != want[0] || *r.Back() != want[len(want)-1]) {
					t.Fatalf("got %d to %d, want %d to %d", *r.Front(), *r.Back(), want[0], want[len(want)-1])
				}
				for i := range want {
					if got := *r.At(i); got != want[i] {
						t.Fatalf("item %d: got %d, want %d", i, got, want[i])
					}
				}
			},
		})
	})
}

func TestRingForgetsWhatIsPopped(t *testing.T) {
	var r Ring[*int]
	for range 3 * minItems {
		r.Push(new(int))
	}
	for r.Len() > minItems {
		r.Remove(r.Len() - 1)
		r.Remove(0)
	}
	for r.Len() > 0 {
		r.Pop()
	}
	for i, p := range r.items {
		if p != nil {
			t.Errorf("slot %d still holds an item", i)
		}
	}
}

func TestRingAllocatesNothingInTheLongRun(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	var r Ring[int]
	n := testing.AllocsPerRun(100, func() { // one more than fits, so that it wraps
		for range 2*minItems + 1 {
			r.Push(1)
		}
		for r.Len() > 0 {
			r.Pop()
		}
	})
	if n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
