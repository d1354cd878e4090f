// SPDX-License-Identifier: Apache-2.0

package table

import (
	"maps"
	"slices"
)

// Counts are numbers of what has happened, by what that is: "killed", "connections".
type Counts map[string]int

// Count counts what shows that the fault of the case has struck.
func (c *Case) Count(what string, n int) { c.counts[what] += n }

// struck notes what shows that the fault has struck, and ends the case if less was counted than its row wants: a
// promise that is kept without its fault shows nothing.
func (c *Case) struck() {
	for _, what := range slices.Sorted(maps.Keys(c.Row.Struck)) {
		n, least := c.counts[what], c.Row.Struck[what]
		c.Note("%s: %d (%d at least)", what, n, least)
		if n < least {
			c.Fail("the fault has not struck: %s: %d, want %d at least", what, n, least)
		}
	}
}
