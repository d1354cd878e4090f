package bus

import (
	"testing"

	"tagbus/subscription"
	"tagbus/tags"
)

// TestLossesOfManyTagsAreTakenInParts: no tag twice, none left out, and no part is
// larger than asked for.
func TestLossesOfManyTagsAreTakenInParts(t *testing.T) {
	const known, most = 10_000, maxTold
	var all losses
	for tag := range tags.Tag(known) {
		all.add(subscription.CauseFull, tag, 1)
		all.add(subscription.CauseMemory, tag, 2)
	}
	var sum losses
	parts := 0
	for ; len(all.counts) > 0; parts++ {
		part := all.take(most)
		if len(part.counts) > most {
			t.Fatalf("got %d tags at once, want at most %d", len(part.counts), most)
		}
		sum.merge(&part)
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
