// SPDX-License-Identifier: Apache-2.0

package tagset

import (
	"iter"

	"tagbus/tags"
)

// What is found out of sets only to tell people is bounded: it is for every answer.
const (
	// namedSteps are the steps of a tags.Budget for what patterns take. Ranges take one each.
	namedSteps = 4096

	// maxNamedParts is how many parts sets have that are united.
	maxNamedParts = 256
)

// Named returns the tags that two sets have in common, or the first set if their patterns make it
// too complex to find out, and the cost of that, in steps of a workqueue.Job.
//
//   - set, other: keep the limits of Fits.
func Named(set, other tags.Set) (both tags.Set, steps int) {
	most := set.Parts() + other.Parts() + namedSteps
	budget := tags.NewBudget(most)
	both, err := budget.Intersection(set, other)
	steps = 1 + (most-max(0, budget.Left()))/StepsPerStep
	if err != nil {
		return set, steps
	}
	return both, steps
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
