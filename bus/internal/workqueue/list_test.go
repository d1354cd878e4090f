// SPDX-License-Identifier: Apache-2.0

package workqueue_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/workqueue"
)

// TestAListIsWalkedWhileItChanges: every value that is there from the beginning to the
// end of a walk comes once, in the order of the ids, whatever is added and removed
// between two slices or by the walk itself.
func TestAListIsWalkedWhileItChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l workqueue.List[uint64]
		has := make(map[uint64]bool)
		nextID := uint64(10)
		add := func(id uint64) {
			l.Add(id, id)
			has[id] = true
		}
		remove := func() { // one of them, or one that is not there
			id := rapid.Uint64Range(0, nextID).Draw(t, "removed")
			l.Remove(id)
			delete(has, id)
		}
		change := func() {
			for range rapid.IntRange(0, 100).Draw(t, "removals") {
				remove()
			}
			for range rapid.IntRange(0, 20).Draw(t, "additions") {
				nextID += 2
				add(nextID)
			}
		}
		for range rapid.IntRange(0, 300).Draw(t, "values") {
			if nextID += 2; rapid.IntRange(0, 9).Draw(t, "order") == 0 {
				add(nextID + 2) // before the one below it
				add(nextID)
				nextID += 2
				continue
			}
			add(nextID)
		}
		change()
		end, stays := nextID, maps.Clone(has)
		var came []uint64
		job := l.Each(func(id uint64) int {
			if !has[id] {
				t.Fatalf("%d came, which is gone", id)
			}
			came = append(came, id)
			if rapid.IntRange(0, 9).Draw(t, "change meanwhile") == 0 {
				change()
			}
			return 1
		})
		for done := false; !done; {
			var steps int
			if steps, done = job(50); steps > 51 {
				t.Fatalf("got %d steps, want at most 51", steps)
			}
			if !done {
				change()
			}
		}
		if !slices.IsSorted(came) || len(slices.Compact(slices.Clone(came))) != len(came) {
			t.Fatalf("got %v, want each once, in order", came)
		}
		for id := range stays {
			if has[id] && !slices.Contains(came, id) {
				t.Fatalf("%d never came", id)
			}
		}
		if len(came) > 0 && came[len(came)-1] > end {
			t.Fatalf("%d came, which was added later", came[len(came)-1])
		}
		for id := range nextID + 2 {
			if l.Has(id) != has[id] {
				t.Fatalf("has %d: got %v, want %v", id, l.Has(id), has[id])
			}
		}
	})
}

func TestAListHasItsValuesInOrder(t *testing.T) {
	var l workqueue.List[string]
	all := func() []string { return slices.Collect(l.All) }
	if got := all(); len(got) > 0 || l.Has(0) {
		t.Errorf("an empty list: got %q", got)
	}
	if steps, done := l.Each(func(string) int { return 1 })(1); steps > 0 || !done {
		t.Errorf("a walk through an empty list: got %d steps, done %v; want none, true", steps, done)
	}
	l.Add(3, "c")
	l.Add(1, "a")
	l.Add(2, "b")
	if got, want := all(), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for s := range l.All {
		if s != "a" {
			t.Errorf("got %q after a break", s)
		}
		break
	}
	for range 2 {
		l.Remove(2)
		if got, want := all(), []string{"a", "c"}; !slices.Equal(got, want) || l.Has(2) || !l.Has(3) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A list that many values have left has no more places than twice the others take.
func TestAListForgetsWhatIsGone(t *testing.T) {
	var l workqueue.List[int]
	const count = 1000
	for id := range count {
		l.Add(uint64(id), id)
	}
	for id := range count - 1 {
		l.Remove(uint64(id))
	}
	looked := 0
	job := l.Each(func(int) int { return 0 })
	for done := false; !done; {
		var steps int
		steps, done = job(1)
		looked += steps
	}
	if looked > 1+64+1 {
		t.Errorf("a walk to one value takes %d steps, want at most 66", looked)
	}
}
