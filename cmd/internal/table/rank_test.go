// SPDX-License-Identifier: Apache-2.0

package table

import "testing"

// The culprit stays when there is little room, whatever the order of the columns.
func TestTheLeastUsefulColumnsGoFirst(t *testing.T) {
	for _, pair := range [][2]string{{"WORST-PEER", "FREE-PAGES"}, {"WORST-PEER", "REFUSED/S"}, {"WORST-PEER", "HOST"}, {"LOST", "MB/S"}, {"STALLED", "SENT/S"}, {"HOST", "BACKEND"}} {
		if Rank(pair[0]) >= Rank(pair[1]) {
			t.Errorf("got %s left out before %s", pair[0], pair[1])
		}
	}
}
