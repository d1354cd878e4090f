// SPDX-License-Identifier: Apache-2.0

// Package tagset tells what the bus must know of a set of tags before it works with it:
// whether its tags are few, whether it is quick to work with, and whether it keeps the limits for
// sets of strangers. It remembers which of several owners took a tag last, and measures how far
// two sets are from each other.
package tagset

import (
	"fmt"

	"tagbus/subscription"
	"tagbus/tags"
)

// StepsPerStep is how many steps of a tags.Budget take the time of one step of the loop
// (workqueue.Job).
const StepsPerStep = 16

// FewTags is the most tags of a set for Few.
const FewTags = 16

// Few reports whether a set has so few tags that a request for it is found by each of
// them.
func Few(set tags.Set) bool {
	if set.Parts() > FewTags {
		return false
	}
	n, exact := set.Count()
	return exact && n <= FewTags
}

// HasMasks reports whether a set is more than ranges. What is quick with ranges can
// take long with masks.
func HasMasks(set tags.Set) bool {
	for range set.Masks() {
		return true
	}
	return false
}

// Masks returns how many masks a set has.
func Masks(set tags.Set) (n int) {
	for range set.Masks() {
		n++
	}
	return n
}

// Fits reports whether a set keeps the limits of a subscription, which are those of a
// directory entry too.
func Fits(set tags.Set) bool {
	return set.Parts() <= subscription.MaxParts && Masks(set) <= subscription.MaxMasks
}

// TooMany returns the error for a set of n ranges and masks that does not fit.
//
// Errors: subscription.ErrTooManyTags, wrapped.
func TooMany[N int | uint64](n N) error {
	return fmt.Errorf("%w: %d ranges and masks, limit %d: subscribe to ranges instead of single tags",
		subscription.ErrTooManyTags, n, subscription.MaxParts)
}

// Missing returns a tag of set that is not in all, or nil. It takes one from the middle:
// if tags come in order, half of them is soon there.
//
// Errors: tags.ErrTooComplex.
func Missing(all, set tags.Set) (*tags.Tag, error) {
	left, err := set.Without(all)
	if err != nil || left.IsEmpty() {
		return nil, err
	}
	var ranges []tags.Tag
	for first := range left.Ranges() {
		ranges = append(ranges, first)
	}
	for first := range left.Masks() {
		ranges = append(ranges, first)
	}
	return &ranges[len(ranges)/2], nil
}
