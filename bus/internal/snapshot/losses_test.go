// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
	"tagbus/subscription"
	"tagbus/tags"
)

// The losses of a tag are those of all lanes of all subscribers; of too many they are unknown.
func TestAddLosses(t *testing.T) {
	var mu sync.Mutex
	var book ledger.Book[int, string]
	lane := func(instance string, number uint16) *ledger.Lane {
		return book.Open(instance, 0, "", number, subscription.Policy{}, 1<<16, func(uint16) bool { return true })
	}
	lane("a", 1).Add(subscription.CauseFull, 1, 3)
	lane("a", 2).Add(subscription.CauseLeftOut, 1, 5)
	lane("b", 1).Add(subscription.CauseFull, 1, 4)
	lane("b", 1).Add(subscription.CauseConnection, 2, 7)
	all := []state.Tag{{Tag: 1}, {Tag: 2}, {Tag: 3}}
	snapshot.AddLosses(all, &mu, &book)
	type losses struct {
		Tag     tags.Tag
		LeftOut uint64
		Lost    []uint64
		Unknown bool
	}
	seen := func() (got []losses) {
		for _, tag := range all {
			x := losses{Tag: tag.Tag, LeftOut: tag.LeftOut, Unknown: tag.LossesUnknown}
			for _, loss := range tag.Losses {
				x.Lost = append(x.Lost, loss.Messages)
			}
			got = append(got, x)
		}
		return got
	}
	if d := cmp.Diff([]losses{{1, 5, []uint64{7}, false}, {2, 0, []uint64{7}, false}, {3, 0, nil, false}}, seen()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for n := range uint16(20000) {
		lane("c", n).Add(subscription.CauseFull, 9, 1)
	}
	all = []state.Tag{{Tag: 1}, {Tag: 2}, {Tag: 3}}
	snapshot.AddLosses(all, &mu, &book)
	if d := cmp.Diff([]losses{{1, 0, nil, true}, {2, 0, nil, true}, {3, 0, nil, true}}, seen()); d != "" {
		t.Errorf("of too many lanes (-want +got):\n%s", d)
	}
}
