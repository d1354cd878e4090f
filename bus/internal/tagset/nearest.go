// SPDX-License-Identifier: Apache-2.0

package tagset

import (
	"math"
	"sort"

	"tagbus/tags"
)

// maxRanges is how many ranges of a set distances are measured to.
const maxRanges = 64

// Ends returns the first and the last tags of the lowest 64 ranges of a set, ascending. A
// pattern is the range that it lies in.
func Ends(set tags.Set) (ends []tags.Tag) {
	var spans []tags.Set
	for lo, hi := range spansOf(set) {
		if span, err := tags.Range(lo, hi); err == nil {
			spans = append(spans, span)
		}
		if len(spans) == maxRanges {
			break
		}
	}
	for lo, hi := range tags.Union(spans...).Ranges() { // ascending, and apart from each other
		ends = append(ends, lo, hi)
	}
	return ends
}

// spansOf yields the ranges of a set, and for each pattern the range that it lies in.
func spansOf(set tags.Set) func(yield func(lo, hi tags.Tag) bool) {
	return func(yield func(lo, hi tags.Tag) bool) {
		for lo, hi := range set.Ranges() {
			if !yield(lo, hi) {
				return
			}
		}
		for value, mask := range set.Masks() {
			if !yield(value, value|^mask) {
				return
			}
		}
	}
}

// Distance returns the least distance between a tag of a set and one of the ranges with
// these ends, 0 if one lies in the other.
//
//   - ends: of Ends.
func Distance(set tags.Set, ends []tags.Tag) uint64 {
	least := uint64(math.MaxUint64)
	for lo, hi := range spansOf(set) {
		at := sort.Search(len(ends), func(i int) bool { return ends[i] >= lo }) // the first end that is not below
		switch {
		case at < len(ends) && (at%2 == 1 || ends[at] <= hi):
			return 0 // one lies in the other
		case at < len(ends):
			least = min(least, uint64(ends[at]-hi))
		}
		if at > 0 {
			least = min(least, uint64(lo-ends[at-1]))
		}
	}
	return least
}
