package bus

import (
	"fmt"

	"tagbus/subscription"
	"tagbus/tags"
)

// What both ends ask of sets of tags.

// intersection returns the tags that are in both sets.
//
// Errors: tags.ErrTooComplex.
func intersection(a, b tags.Set) (tags.Set, error) { return a.Intersection(b) }

// masksOf returns how many masks a set has.
func masksOf(set tags.Set) (n int) {
	for range set.Masks() {
		n++
	}
	return n
}

// tooManyParts returns the error for a set of n ranges and masks.
func tooManyParts[N int | uint64](n N) error {
	return fmt.Errorf("%w: %d ranges and masks, limit %d: subscribe to ranges instead of single tags",
		subscription.ErrTooManyTags, n, subscription.MaxParts)
}

// fewTags is the most tags of a set for few.
const fewTags = 16

// few reports whether a set has so few tags that a request for it is found by
// each of them.
func few(set tags.Set) bool {
	if set.Parts() > fewTags {
		return false
	}
	n, exact := set.Count()
	return exact && n <= fewTags
}

// hasMasks reports whether a set is more than ranges. What is quick with ranges can
// take long with masks.
func hasMasks(set tags.Set) bool {
	for range set.Masks() {
		return true
	}
	return false
}
