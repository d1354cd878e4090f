// SPDX-License-Identifier: Apache-2.0

package tagset

import (
	"iter"

	"tagbus/tags"
)

// maxNamedParts bounds the sets of which is found out what people are told of them: that is for
// every answer, and not worth more.
const maxNamedParts = 256

// Named returns the tags that two sets have in common, or the first set if both together are too
// complex to find out, and the cost of that, in steps of a workqueue.Job.
func Named(set, other tags.Set) (both tags.Set, steps int) {
	parts := set.Parts() + other.Parts()
	if parts > maxNamedParts {
		return set, 0
	}
	both, err := tags.NewBudget(16*maxNamedParts).Intersection(set, other)
	if err != nil {
		return set, parts
	}
	return both, parts
}

// Some returns the union of sets, and how many ranges and masks that has. Of sets that have very
// many it returns some, and how many all have before they are united.
func Some(all iter.Seq[tags.Set]) (some tags.Set, parts int) {
	for set := range all {
		if parts += set.Parts(); some.Parts() <= maxNamedParts {
			some = some.Union(set)
		}
	}
	if some.Parts() <= maxNamedParts {
		parts = some.Parts()
	}
	return some, parts
}
