// SPDX-License-Identifier: Apache-2.0

package workqueue_test

import (
	"slices"
	"testing"

	"tagbus/bus/internal/workqueue"
)

// finderBed is a list of the numbers 1 to n, of which some meet the condition.
type finderBed struct {
	workqueue.Finder[int]
	queue workqueue.Queue
	loop  turns
	list  workqueue.List[int]
	meet  map[int]bool
	asked []int
	found []bool // that Look has told
}

func newFinderBed(n int, meet ...int) *finderBed {
	b := &finderBed{meet: make(map[int]bool)}
	b.queue = workqueue.New(b.loop.post)
	for i := range n {
		b.list.Add(uint64(i+1), i+1)
	}
	for _, i := range meet {
		b.meet[i] = true
	}
	return b
}

func (b *finderBed) meets(i int) bool {
	b.asked = append(b.asked, i)
	return b.meet[i]
}

func (b *finderBed) any() bool { return b.Any(&b.list, b.meets) }

func (b *finderBed) look() {
	b.Look(&b.queue, &b.list, func(i int) (bool, int) { return b.meets(i), 1 }, func(found bool) { b.found = append(b.found, found) })
}

// The value that met the condition is asked first the next time, as long as it is there.
func TestFinderAny(t *testing.T) {
	b := newFinderBed(4, 3)
	for _, test := range []struct {
		name   string
		change func()
		any    bool
		asked  []int
	}{
		{"at first", func() {}, true, []int{1, 2, 3}},
		{"again", func() {}, true, []int{3}},
		{"another one", func() { b.meet = map[int]bool{2: true} }, true, []int{3, 1, 2}},
		{"it is gone", func() { b.list.Remove(2) }, false, []int{1, 3, 4}},
	} {
		b.asked = nil
		test.change()
		if got := b.any(); got != test.any || !slices.Equal(b.asked, test.asked) {
			t.Errorf("%s: got %v after %v, want %v after %v", test.name, got, b.asked, test.any, test.asked)
		}
	}
}

// A look ends with the first value that meets the condition. What was asked for meanwhile is
// looked for once more if none did.
func TestFinderLook(t *testing.T) {
	for _, test := range []struct {
		name  string
		meet  []int
		again bool // Look is called during the first one
		found []bool
	}{
		{"none", nil, false, []bool{false}},
		{"one", []int{2}, false, []bool{true}},
		{"none, once more", nil, true, []bool{false, false}},
		{"one, once more", []int{2}, true, []bool{true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newFinderBed(3, test.meet...)
			b.queue.Add(func(budget int) (int, bool) { return budget, true }) // so that the look waits
			b.look()
			if test.again {
				b.look()
			}
			if !b.Looking() || len(b.found) > 0 {
				t.Fatalf("looking is %v, found %v; want that it waits", b.Looking(), b.found)
			}
			b.loop.turn()
			if !slices.Equal(b.found, test.found) || b.Looking() {
				t.Errorf("got %v, looking is %v; want %v", b.found, b.Looking(), test.found)
			}
		})
	}
}
