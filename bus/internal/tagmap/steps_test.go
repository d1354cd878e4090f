// SPDX-License-Identifier: Apache-2.0

package tagmap

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tagbus/internal/testkit"
)

// What is there when a walk begins comes once, whatever is added, and however the
// table grows and shrinks, between its slices.
func TestMapIsWalkedWhileItGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Map[int]
		next := int64(0)
		add := func(n int) {
			for range n {
				m.Add(entryTag(next), func(v *int) { *v = int(next) })
				next++
			}
		}
		add(rapid.IntRange(1, 6000).Draw(t, "entries"))
		if rapid.Bool().Draw(t, "remove most") {
			m.sweep(0, math.MaxInt, func(e *Entry[int]) bool { return e.Value%50 == 0 })
		}
		started, times := make(map[int]bool), make(map[int]int)
		m.All(func(e *Entry[int]) { started[e.Value] = true })
		add(rapid.IntRange(0, 500).Draw(t, "more before"))
		for place, done := uint64(0), false; !done; {
			place, done = m.Walk(place, rapid.IntRange(1, 2000).Draw(t, "budget"), func(e *Entry[int]) { times[e.Value]++ })
			add(rapid.IntRange(0, 500).Draw(t, "more"))
			if rapid.Bool().Draw(t, "shrink") {
				m.shrink()
			}
		}
		for value := range int(next) {
			if n := times[value]; n > 1 || n == 0 && started[value] {
				t.Fatalf("entry %d of %d came %d times, want once", value, next, n)
			}
		}
	})
}

// The cost of a call of the writer is what it looks at: no single one may cost what
// there is, neither while a map fills nor while it is emptied.
func TestMapNeverWorksLongAtOnce(t *testing.T) {
	testkit.OneGoroutine(t)
	const entries, budget, most = 300_000, 1000, 2000
	var m Map[int]
	worst, before := 0, 0
	step := func() {
		worst = max(worst, m.work-before)
		before = m.work
	}
	for i := range int64(entries) {
		m.Add(entryTag(i), func(v *int) { *v = int(i) })
		step()
	}
	if m.work > 12*entries {
		t.Errorf("got %d slots looked at to add %d entries, want at most %d", m.work, entries, 12*entries)
	}
	for place, done := uint64(0), false; !done; step() {
		place, done = m.sweep(place, budget, func(e *Entry[int]) bool { return e.Value%1000 == 0 })
	}
	m.shrink()
	for !m.Move(budget) {
		step()
	}
	step()
	if worst > most {
		t.Errorf("got %d slots looked at in one call, want at most %d", worst, most)
	}
	if n := len(m.slots.Load().slots); m.count != entries/1000 || n > 8*m.count {
		t.Errorf("got %d entries in %d slots, want %d in at most 8 times as many", m.count, n, entries/1000)
	}
}

// Emptied by half, a map must not cost more than it did to fill.
func TestMapIsSweptInTimeProportionalToItsSize(t *testing.T) {
	testkit.OneGoroutine(t)
	cost := func(entries int64) int {
		var m Map[int]
		for i := range entries {
			m.Add(entryTag(i), func(v *int) { *v = int(i) })
		}
		before := m.work
		for place, done := uint64(0), false; !done; {
			place, done = m.sweep(place, 1000, func(e *Entry[int]) bool { return e.Value%2 == 0 })
		}
		return m.work - before
	}
	once, twice := cost(1<<17), cost(1<<18)
	if float64(twice) > 2.3*float64(once) {
		t.Errorf("got %d slots looked at for %d entries, and %d for twice as many; want at most 2.3 times as many", once, 1<<17, twice)
	}
}
