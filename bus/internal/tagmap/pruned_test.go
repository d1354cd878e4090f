// SPDX-License-Identifier: Apache-2.0

package tagmap

import (
	"testing"

	"tagbus/tags"
)

// filled returns a map of the tags below n.
func filled(n int) *Pruned[int] {
	m := new(Pruned[int])
	for tag := range tags.Tag(n) {
		m.Add(tag, func(v *int) { *v = int(tag) })
	}
	return m
}

func free() int { return 0 }

// A map of few entries keeps them, and one that was pruned grows before it is again.
func TestPruneWaitsUntilThereMayBeMany(t *testing.T) {
	if m := filled(MinPrune); m.Prune(free, nil) != nil {
		t.Errorf("got a job for %d entries", MinPrune)
	}
	m := filled(MinPrune + 1)
	job := m.Prune(free, func(tag tags.Tag) bool { return tag < 100 })
	if job == nil || m.Prune(free, nil) != nil {
		t.Fatal("got no job, or another one before it was done")
	}
	for done := false; !done; {
		_, done = job(50)
	}
	if m.Len() != 100 {
		t.Errorf("got %d entries left, want 100", m.Len())
	}
	more := func(n int) {
		for tag := range tags.Tag(n) {
			m.Add(1_000_000+tag, func(*int) {})
		}
	}
	if more(MinPrune + 100); m.Prune(free, nil) != nil {
		t.Errorf("got a job for %d entries after 100 were needed", m.Len())
	}
	if m.Add(999_999, func(*int) {}); m.Prune(free, nil) == nil {
		t.Errorf("got no job for %d entries after 100 were needed", m.Len())
	}
}

// What is needed stays, with its value, whatever is added and needed between two slices.
// The steps of a slice are in proportion to its budget.
func TestPruneInSlices(t *testing.T) {
	const n, budget, cost = 5 * MinPrune, 100, 3
	m := filled(n)
	needed := func(tag tags.Tag) bool { return tag%7 == 0 || tag >= n }
	job := m.Prune(func() int { return cost }, needed)
	slices := 0
	for done := false; !done; slices++ {
		var steps int
		if steps, done = job(budget); steps > 20*budget {
			t.Errorf("slice %d: got %d steps, want about %d", slices, steps, budget)
		}
		m.Add(n+tags.Tag(slices), func(v *int) { *v = n + slices })
	}
	if slices < n*cost/(20*budget) {
		t.Errorf("got %d slices, want many", slices)
	}
	for tag := range tags.Tag(n + slices) {
		v := m.Get(tag)
		if (v != nil) != needed(tag) || v != nil && *v != int(tag) {
			t.Errorf("tag %d: got %v, needed %v", tag, v, needed(tag))
		}
	}
	if m.Moving() {
		t.Error("the table is still being moved")
	}
}
