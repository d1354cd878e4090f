// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"fmt"
	"time"

	"tagbus/cmd/internal/units"
	"tagbus/recording"
)

// mostHoles is how many holes are named one by one.
const mostHoles = 5

// holeLines says when nothing was recorded: a line for each of the first holes, and one for the others.
func holeLines(holes []recording.Hole) (lines []string) {
	for i, h := range holes {
		if i == mostHoles {
			rest := time.Duration(0)
			for _, h := range holes[i:] {
				rest += h.Length()
			}
			return append(lines, fmt.Sprintf("nothing was recorded %s more, for %s in all", units.FormatNumber(len(holes)-i, "time"), units.FormatDuration(rest)))
		}
		lines = append(lines, fmt.Sprintf("nothing was recorded for %s from %s on", units.FormatDuration(h.Length()), h.From.Local().Format("2006-01-02 15:04:05.000")))
	}
	return lines
}
