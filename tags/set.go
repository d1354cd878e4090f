// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"iter"
	"slices"
)

// Set is a set of tags: a union of inclusive ranges and of value/mask patterns.
//
// The zero value is the empty set. A Set never changes, so it may be copied and
// used by any number of goroutines; the functions that combine sets return new ones.
//
// Sets are kept in a canonical form, whatever the order in which they were built:
//
//   - Exact tags and ranges are merged into disjoint, ascending ranges with a gap
//     between any two. Of(1, 2, 3) is Range(1, 3).
//   - A pattern whose open bits are the lowest ones is a range and becomes one.
//   - Other patterns are sorted, each held once; a pattern whose lowest and highest
//     tags lie in one range of the set adds nothing and is dropped.
//
// Two sets of ranges therefore are Equal exactly when they hold the same tags. Sets
// with patterns may hold the same tags in more than one form, and are Equal only if
// the patterns are the same: patterns that overlap each other, or only in part a
// range, are kept as they were given, since to find the smallest form of a union of
// patterns takes exponential time.
//
// Cost, for a set of r ranges and m patterns: 16 bytes for each; building sorts them;
// Contains takes O(log r + m).
type Set struct {
	ranges []span    // disjoint, ascending, not adjacent
	masks  []pattern // ascending, unique, none is a span
}

// Of returns the set of exactly these tags, in any order, duplicates allowed.
func Of(tags ...Tag) Set {
	ranges := make([]span, len(tags))
	for i, t := range tags {
		ranges[i] = span{t, t}
	}
	return build(ranges, nil)
}

// Range returns the set of all tags from lo to hi, both included.
//
//   - Errors: ErrRangeOrder, wrapped with the two tags, if lo is above hi.
func Range(lo, hi Tag) (Set, error) {
	if lo > hi {
		return Set{}, fmt.Errorf("%w: %v-%v", ErrRangeOrder, lo, hi)
	}
	return Set{ranges: []span{{lo, hi}}}, nil
}

// Match returns the set of all tags that agree with value in every bit that is one
// in mask. Bits of value outside mask are ignored; mask 0 gives all tags.
func Match(value, mask Tag) Set {
	return build(nil, []pattern{{mask: mask, value: value & mask}})
}

// Everything returns the set of every tag.
func Everything() Set { return Set{ranges: []span{{0, MaxTag}}} }

// Union returns the set of the tags that are in any of the sets.
func Union(sets ...Set) Set {
	var nranges, nmasks int
	for _, s := range sets {
		nranges += len(s.ranges)
		nmasks += len(s.masks)
	}
	ranges := make([]span, 0, nranges)
	masks := make([]pattern, 0, nmasks)
	for _, s := range sets {
		ranges = append(ranges, s.ranges...)
		masks = append(masks, s.masks...)
	}
	return build(ranges, masks)
}

// Union returns the set of the tags that are in s or in o.
func (s Set) Union(o Set) Set {
	switch {
	case o.IsEmpty():
		return s
	case s.IsEmpty():
		return o
	default:
		ranges := make([]span, 0, len(s.ranges)+len(o.ranges)) // in order: there is nothing to sort
		a, b := s.ranges, o.ranges
		for len(a) > 0 && len(b) > 0 {
			if b[0].lo < a[0].lo {
				a, b = b, a
			}
			ranges, a = append(ranges, a[0]), a[1:]
		}
		return build(append(append(ranges, a...), b...), append(slices.Clone(s.masks), o.masks...))
	}
}

// build returns the canonical set of the ranges and patterns. It takes ownership of
// both slices. Each pattern's value must lie within its mask.
func build(ranges []span, masks []pattern) Set {
	kept := masks[:0]
	for _, p := range masks {
		if r, ok := p.span(); ok {
			ranges = append(ranges, r)
		} else {
			kept = append(kept, p)
		}
	}
	ranges = mergeSpans(ranges)
	slices.SortFunc(kept, pattern.compare)
	kept = slices.Compact(kept)
	kept = slices.DeleteFunc(kept, func(p pattern) bool { return within(ranges, p) })
	if len(kept) == 0 {
		kept = nil
	}
	return Set{ranges: ranges, masks: kept}
}

// within reports whether one of the ranges holds the lowest and the highest tag of p.
func within(ranges []span, p pattern) bool {
	i := firstEndingAt(ranges, p.value)
	return i < len(ranges) && ranges[i].lo <= p.value && p.last() <= ranges[i].hi
}

// Contains reports whether t is in the set.
//
//   - Threads: any. Blocks: never. Allocates: no.
func (s Set) Contains(t Tag) bool {
	if i := firstEndingAt(s.ranges, t); i < len(s.ranges) && s.ranges[i].lo <= t {
		return true
	}
	for _, p := range s.masks {
		if t&p.mask == p.value {
			return true
		}
	}
	return false
}

// IsEmpty reports whether the set holds no tag.
func (s Set) IsEmpty() bool { return len(s.ranges) == 0 && len(s.masks) == 0 }

// Equal reports whether both sets have the same canonical form. True means that they
// hold the same tags; false means that they differ, unless patterns are involved (see Set).
func (s Set) Equal(o Set) bool {
	return slices.Equal(s.ranges, o.ranges) && slices.Equal(s.masks, o.masks)
}

// Intersects reports whether some tag is in both sets. False is exact; true may also
// mean that it would take more than MaxSteps steps to find out (see Budget), which sets
// of ranges never do.
//
// Cost, with r ranges and m patterns in the set with fewer ranges, R and M in the
// other: O(r log R + m R log R + M r log r + m M), however many tags the ranges hold.
func (s Set) Intersects(o Set) bool {
	some, err := s.intersects(o, s.workWith(o))
	return some || err != nil
}

func (s Set) intersects(o Set, w *work) (bool, error) {
	if !w.spend(min(len(s.ranges), len(o.ranges))) {
		return false, ErrTooComplex
	}
	if spansIntersect(s.ranges, o.ranges) {
		return true, nil
	}
	for _, p := range s.masks {
		if !w.spend(len(o.masks)) {
			return false, ErrTooComplex
		}
		if slices.ContainsFunc(o.masks, p.intersects) || p.intersectsSpans(o.ranges, w) {
			return true, nil
		}
	}
	for _, p := range o.masks {
		if p.intersectsSpans(s.ranges, w) {
			return true, nil
		}
	}
	if w.over() {
		return false, ErrTooComplex
	}
	return false, nil
}

// Parts returns the number of ranges (an exact tag is one) plus the number of
// patterns of the set, which is what its memory and its binary form grow with.
func (s Set) Parts() int { return len(s.ranges) + len(s.masks) }

// Ranges yields the ranges in ascending order as first and last tag, both included.
func (s Set) Ranges() iter.Seq2[Tag, Tag] {
	return func(yield func(lo, hi Tag) bool) {
		for _, r := range s.ranges {
			if !yield(r.lo, r.hi) {
				return
			}
		}
	}
}

// Masks yields the patterns as value and mask, in ascending order of mask and then
// of value. Contiguous patterns are not among them: they are ranges.
func (s Set) Masks() iter.Seq2[Tag, Tag] {
	return func(yield func(value, mask Tag) bool) {
		for _, p := range s.masks {
			if !yield(p.value, p.mask) {
				return
			}
		}
	}
}
