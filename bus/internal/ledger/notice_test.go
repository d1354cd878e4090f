// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"

	"tagbus/subscription"
	"tagbus/tags"
)

// TestNoticesOfManyTagsAreTakenInParts: no tag twice, none left out, and no part is
// larger than asked for.
func TestNoticesOfManyTagsAreTakenInParts(t *testing.T) {
	const known, most = 10_000, 512
	var all Notice
	for tag := range tags.Tag(known) {
		all.Add(subscription.CauseFull, tag, 1)
		all.Add(subscription.CauseMemory, tag, 2)
	}
	var sum Notice
	parts := 0
	for ; len(all.counts) > 0; parts++ {
		part := all.Take(most)
		if len(part.counts) > most {
			t.Fatalf("got %d tags at once, want at most %d", len(part.counts), most)
		}
		sum.Merge(&part)
	}
	if want := (known + most - 1) / most; parts != want {
		t.Errorf("got %d parts, want %d", parts, want)
	}
	for tag := range tags.Tag(known) {
		if got := sum.counts[tag]; got[subscription.CauseFull] != 1 || got[subscription.CauseMemory] != 2 {
			t.Fatalf("tag %v: got %v, want 1 and 2", tag, got)
		}
	}
}
