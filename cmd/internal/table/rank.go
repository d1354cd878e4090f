// SPDX-License-Identifier: Apache-2.0

package table

import "slices"

// byUse are the titles of columns, the most useful first: what is wrong and with whom, then how
// much, then where, then the rest. Where there is no room for all, the last ones are left out,
// in tables and on the screen of top alike.
var byUse = []string{
	"NAME", "FROM", "TO", "TAG", "FILE", "INSTANCE", "GONE", "SERVED BY", "SUBSCRIBER", "RECEIVER", "PUBLISHER", "SENDER", "PEER",
	"UNUSED", "RESULT", "ACTION", "ALLOWED", "STATE",
	"STALLED", "TIMES", "LOST/S", "LOST:full/mem/conn", "WORST-PEER", "QUEUE%", "QUEUE", "COUNT", "MISSING", "LOST", "CAUSE",
	"MSG/S", "SENT/S", "RATE", "GAP-MAX", "SUBS", "PUBS", "PEERS", "TAGS", "HOST", "TO-HOST", "ROLE",
	"MB/S", "EXPECTED", "LINE", "WHY", "ENDS", "UNEXPLAINED", "UNCONFIRMED", "LAST", "MESSAGES", "GAP-MEAN",
	"RESENT/S", "RESENT", "VIA", "POLICY", "SENT", "MEAN", "BYTES", "LIMIT", "REFUSED/S", "SINCE", "HEARD", "WHAT", "WHO", "FIRST",
	"ADDRESS", "LEFT-OUT", "RTT", "PID", "GAP-MIN", "GAP-STD", "ALSO", "TIME", "FREE-PAGES", "BACKEND",
}

// Rank returns how useful a column is: 0 is the most. One that is in no list is the least.
func Rank(title string) int {
	if at := slices.Index(byUse, title); at >= 0 {
		return at
	}
	return len(byUse)
}
