// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"tagbus/recording"
)

// Incomplete returns why files do not have all of what a query selects, as far as reading
// them shows it: files that were not closed or are not there, and blocks that were passed
// over. What the recorder itself says to be missing is in the events.
//
//   - blocks: how many could not be read.
func Incomplete(rs recording.Readers, q recording.Query, blocks uint64) []string {
	var why missing
	for _, parts := range rs.Recordings() {
		for _, p := range problems(parts, q.From, q.To) {
			why.add(p.text)
		}
	}
	if blocks > 0 {
		why.add(blocksMissing(blocks))
	}
	return why.lines()
}
