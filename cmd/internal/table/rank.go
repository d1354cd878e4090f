// SPDX-License-Identifier: Apache-2.0

package table

import "slices"

// byUse are the titles of columns, the most useful first: what is wrong and with whom, then how
// much, then where, then the rest. Where there is no room for all, the last ones are left out,
// in tables and on the screen of top alike.
var byUse = []string{
	"NAME", "FROM", "TO",
	"STALLED", "LOST/S", "LOST:full/mem/conn", "WORST-PEER", "QUEUE%", "QUEUE", "LOST",
	"MSG/S", "SENT/S", "SUBS", "PUBS", "PEERS", "TAGS", "HOST", "TO-HOST", "ROLE",
	"MB/S", "RESENT/S", "RESENT", "POLICY", "SENT", "LIMIT", "REFUSED/S", "SINCE", "HEARD",
	"ADDRESS", "LEFT-OUT", "RTT", "PID", "FREE-PAGES", "BACKEND",
}

// Rank returns how useful a column is: 0 is the most. One that is in no list of them is never
// left out.
func Rank(title string) int { return max(0, slices.Index(byUse, title)) }
