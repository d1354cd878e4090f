// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"iter"
	"math"
)

// All yields every tag of the set once, in ascending order.
//
// Tags are found as they are asked for, so breaking out of a loop over a set of 2^60
// tags costs nothing. A step costs O(1) on ranges and O(log m) among m patterns.
func (s Set) All() iter.Seq[Tag] { return s.AllFrom(0) }

// AllFrom yields the tags of the set that are not below first, in ascending order:
// an iteration goes on where an earlier one was left.
//
// Cost: to begin, O(log r + m) for r ranges and m patterns; a step as in All.
func (s Set) AllFrom(first Tag) iter.Seq[Tag] {
	return func(yield func(Tag) bool) {
		m := newMerge(s, first)
		for {
			t, ok := m.pop()
			if !ok || !yield(t) {
				return
			}
		}
	}
}

// cursor is the next tag that a pattern contributes.
type cursor struct {
	at Tag
	p  pattern
}

// merge yields the tags of a set in order: the lowest of the next tag of the ranges
// and the next tags of the patterns, which wait in a binary heap.
type merge struct {
	ranges  []span // what is left; ranges[0].lo is next
	first   span   // ranges[0], with lo moved to the next tag
	cursors []cursor
}

func newMerge(s Set, first Tag) *merge {
	m := &merge{ranges: s.ranges[firstEndingAt(s.ranges, first):]}
	if len(m.ranges) > 0 {
		m.first = m.ranges[0]
		m.first.lo = max(m.first.lo, first)
	}
	for _, p := range s.masks {
		if at, ok := p.next(first); ok {
			m.cursors = append(m.cursors, cursor{at, p})
		}
	}
	for i := len(m.cursors)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m
}

// pop removes the lowest tag from all that hold it.
func (m *merge) pop() (Tag, bool) {
	var t Tag
	switch {
	case len(m.ranges) > 0 && (len(m.cursors) == 0 || m.first.lo <= m.cursors[0].at):
		t = m.first.lo
		m.advanceRange()
	case len(m.cursors) > 0:
		t = m.cursors[0].at
	default:
		return 0, false
	}
	for len(m.cursors) > 0 && m.cursors[0].at == t {
		m.advanceCursor()
	}
	return t, true
}

// advanceRange moves past the next tag of the ranges.
func (m *merge) advanceRange() {
	if m.first.lo < m.first.hi {
		m.first.lo++
		return
	}
	m.ranges = m.ranges[1:]
	if len(m.ranges) > 0 {
		m.first = m.ranges[0]
	}
}

// advanceCursor moves the first pattern past its tag and restores the heap.
func (m *merge) advanceCursor() {
	c := &m.cursors[0]
	next, ok := Tag(0), false
	if c.at < MaxTag {
		next, ok = c.p.next(c.at + 1)
	}
	if ok {
		c.at = next
	} else {
		last := len(m.cursors) - 1
		m.cursors[0] = m.cursors[last]
		m.cursors = m.cursors[:last]
	}
	m.sink(0)
}

// sink moves the cursor at i down until none below it in the heap is lower.
func (m *merge) sink(i int) {
	for {
		low := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.cursors); child++ {
			if m.cursors[child].at < m.cursors[low].at {
				low = child
			}
		}
		if low == i {
			return
		}
		m.cursors[i], m.cursors[low] = m.cursors[low], m.cursors[i]
		i = low
	}
}

// countedMasks bounds the patterns among which Count looks for overlaps.
const countedMasks = 1024

// Count returns the number of tags in the set.
//
// exact is false if n is only an upper bound: because patterns overlap each other,
// because there are more than 1,024 of them, because it would take more than MaxSteps
// steps to count them, or because the number is 2^64 or its bound does not fit (n is
// then the largest uint64). Overlaps of patterns with ranges are counted exactly.
func (s Set) Count() (n uint64, exact bool) {
	exact = len(s.masks) <= countedMasks
	w := s.workWith(Set{})
	add := func(k uint64) {
		if n+k < n {
			n, exact = math.MaxUint64, false
			return
		}
		n += k
	}
	for _, r := range s.ranges {
		if r.lo == 0 && r.hi == MaxTag {
			return math.MaxUint64, false
		}
		add(uint64(r.hi-r.lo) + 1)
	}
	for i, p := range s.masks {
		k := p.count()
		if exact {
			for i := range p.hits(s.ranges, w) {
				if !w.spend(stepsPerRank) {
					break
				}
				k -= p.rankAfter(s.ranges[i].hi) - p.rank(s.ranges[i].lo)
			}
			exact = w.spend(i)
		}
		add(k)
		for _, q := range s.masks[:i] {
			if !exact {
				break
			}
			exact = !p.intersects(q)
		}
	}
	return n, exact
}
