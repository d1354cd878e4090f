// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"math"
	"testing"

	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
)

func TestCounters(t *testing.T) {
	var c Counters
	c.Page(Page{Messages: 3, Bytes: 30, Unwanted: 1})
	c.Page(Page{Messages: 2, Bytes: 5})
	c.Panicked()
	c.Supersede()
	c.Supersede()
	c.Lose(ledger.Queue, 4, 10, 20)
	c.Lose(ledger.Queue, 1, 30, 30)
	c.Lose(subscription.CauseFull, 7, 15, 16)
	want := Counts{Messages: 5, Bytes: 35, Pages: 2, Unwanted: 1, Panics: 1, Superseded: 2}
	want.Lost[ledger.Queue], want.Lost[subscription.CauseFull] = 5, 7
	if got := c.Counts(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := want.Overflowed(); got != 7 {
		t.Errorf("overflowed: got %d, want the 5 lost and the 2 superseded", got)
	}
	if at := c.LostAt()[ledger.Queue]; at.First != 10 || at.Last != 30 {
		t.Errorf("lost between %d and %d, want 10 and 30", at.First, at.Last)
	}
	for range 3 {
		c.Lose(subscription.CauseFull, math.MaxUint64, 20, 20)
	}
	all := c.Counts()
	if got := all.Lost.Sum(); got < 1<<60 || got > 1<<61 {
		t.Errorf("after very many: got %d lost, want some 1<<60", got)
	}
}
