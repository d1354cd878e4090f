// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/units"
)

// maxDead is how many are named that have gone without a word.
const maxDead = 5

// DeadLines says which programs have gone without a word, a line for each of the first few, the
// worst first. A bus of which only these are left is not one on which nothing ever was.
//
//   - keep: which of them; nil: all.
func DeadLines(o overview.Overview, keep func(*directory.Entry) bool) (lines []string) {
	only := overview.Overview{Time: o.Time, Full: o.Full}
	for _, d := range o.Dead {
		if keep == nil || keep(&d.Entry) {
			only.Dead = append(only.Dead, d)
		}
	}
	groups := overview.Groups(only.Problems())
	for i, g := range groups {
		if i == maxDead {
			return append(lines, units.FormatNumber(len(groups)-maxDead, "other")+" have gone so, too")
		}
		lines = append(lines, g.Culprit.Called()+": "+cli.Words(g.Text()))
	}
	return lines
}
