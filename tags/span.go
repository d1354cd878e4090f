// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"cmp"
	"math/bits"
	"slices"
)

// span is the inclusive range of tags lo..hi, with lo <= hi.
type span struct{ lo, hi Tag }

// compare orders by the first tag.
func (r span) compare(o span) int { return cmp.Compare(r.lo, o.lo) }

// mergeSpans sorts the spans and joins those that overlap or touch, in place.
// It returns nil for none.
func mergeSpans(spans []span) []span {
	if len(spans) == 0 {
		return nil
	}
	if !slices.IsSortedFunc(spans, span.compare) {
		slices.SortFunc(spans, span.compare)
	}
	n := 0 // spans[:n+1] are merged
	for _, r := range spans[1:] {
		last := &spans[n]
		// r.lo-1 cannot wrap: r.lo is 0 only if last.lo is 0, and then r.lo <= last.hi.
		if r.lo <= last.hi || r.lo-1 == last.hi {
			last.hi = max(last.hi, r.hi)
			continue
		}
		n++
		spans[n] = r
	}
	return slices.Clip(spans[:n+1])
}

// firstEndingAt returns the index of the first of the ascending, disjoint spans that
// ends at t or above it, len(spans) if none does. Only that span can contain t.
func firstEndingAt(spans []span, t Tag) int {
	i := 0
	for n := len(spans); n > 0; {
		half := (n + 1) / 2
		// below is 1 if the span ends below t. Arithmetic instead of a branch, which
		// would be mispredicted at half of the steps when tags are scattered.
		_, below := bits.Sub64(uint64(spans[i+half-1].hi), uint64(t), 0)
		i += half * int(below)
		n -= half
	}
	return i
}

// spansIntersect reports whether two lists of ascending, disjoint spans share a tag.
// It searches the longer list for each span of the shorter one.
func spansIntersect(a, b []span) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	for _, r := range a {
		b = b[firstEndingAt(b, r.lo):]
		if len(b) == 0 {
			return false
		}
		if b[0].lo <= r.hi {
			return true
		}
	}
	return false
}
