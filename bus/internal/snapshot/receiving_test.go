// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
	"tagbus/subscription"
	"tagbus/tags"
)

// TestReceived adds up what publishers have sent of a tag, and leaves out what is beyond the limit.
func TestReceived(t *testing.T) {
	var sums snapshot.Received
	came := func(delivered, missed uint64) *ledger.Tally {
		tally := &ledger.Tally{Position: delivered + missed, Delivered: delivered}
		if missed > 0 {
			tally.Lose(subscription.CauseFull, missed)
		}
		return tally
	}
	for tag := tags.Tag(state.MaxTags); tag > 0; tag-- {
		if !sums.Add(tag, came(1, 0)) {
			t.Fatalf("tag %v is left out", tag)
		}
	}
	if !sums.Add(5, came(2, 3)) {
		t.Error("a tag of another publisher is left out")
	}
	if sums.Add(state.MaxTags+1, came(1, 0)) || sums.Add(6, came(0, 0)) {
		t.Error("one tag too many was added, or one of which nothing came")
	}
	all := sums.States()
	if len(all) != state.MaxTags || all[0].Tag != 1 {
		t.Fatalf("got %d tags, from %v, want %d from 1", len(all), all[0].Tag, state.MaxTags)
	}
	if x := all[4]; x.Tag != 5 || x.Messages != 3 || state.Lost(x.Losses) != 3 {
		t.Errorf("got %d messages of tag %v, and %v lost; want 3 of 5, and 3", x.Messages, x.Tag, x.Losses)
	}
}
