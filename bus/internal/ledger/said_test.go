// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"testing"

	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
)

// The first count of a connection settles what the last one left open. Later counts
// cannot fall, nor be above what was sent.
func TestSaid(t *testing.T) {
	var book ledger.Book[*int, *int]
	lane := book.Open("subscriber", new(int), new(int), 0, subscription.Policy{}, 1, func(uint16) bool { return false })
	if open := lane.End(ledger.Left{Sent: 10, Owed: true}); open != 10 {
		t.Fatalf("%d messages are unconfirmed, want 10", open)
	}
	var said ledger.Said
	steps := []struct {
		name         string
		total, given uint64
		fails        bool
		here         uint64
	}{
		{name: "first", total: 7, given: 0, here: 0},
		{name: "as much as was sent", total: 12, given: 5, here: 5},
		{name: "more than was sent", total: 13, given: 5, fails: true, here: 5},
		{name: "less than before", total: 11, given: 5, fails: true, here: 5},
		{name: "the same again", total: 12, given: 5, here: 5},
	}
	for _, x := range steps {
		if ok := said.Say(lane, x.total, x.given); ok == x.fails {
			t.Errorf("%s: noted: %t, want %t", x.name, ok, !x.fails)
		}
		if here := said.Here(); here != x.here {
			t.Errorf("%s: %d messages are received here, want %d", x.name, here, x.here)
		}
	}
	if sums := lane.Sums(); sums.Sent != 7 || sums.Unconfirmed != 0 {
		t.Errorf("account: %+v, want 7 sent and none unconfirmed", sums)
	}
}
