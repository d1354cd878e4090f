// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"iter"
)

// OfRanges returns the set of all tags in ranges, given as first and last tag, both included, in
// any order. It is the inverse of Set.Ranges.
//
// Cost: linear if the first tags ascend; others are sorted.
//
//   - n: about how many there are, for which memory is made at once; 0 if that is unknown.
//   - Errors: ErrRangeOrder, wrapped with the two tags, if one ends before it begins.
func OfRanges(n int, ranges iter.Seq2[Tag, Tag]) (Set, error) {
	spans := make([]span, 0, n)
	for lo, hi := range ranges {
		if lo > hi {
			return Set{}, fmt.Errorf("%w: %v-%v", ErrRangeOrder, lo, hi)
		}
		if n := len(spans); n > 0 && spans[n-1].lo <= lo && lo <= spans[n-1].hi { // nothing to keep
			spans[n-1].hi = max(spans[n-1].hi, hi)
			continue
		}
		spans = append(spans, span{lo, hi})
	}
	return build(spans, nil), nil
}
