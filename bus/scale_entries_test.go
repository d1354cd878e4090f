// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"net/netip"
	"testing"

	"tagbus/bus/directory"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// announceMany puts n entries into the directory, of publishers that are not there and
// that no subscription concerns, and returns the steps of comparing one that changes with
// the others.
func (b *scaleBed) announceMany(n int) (steps int) {
	b.tb.Helper()
	var last directory.Registration
	var e directory.Entry
	for i := range n {
		var set tags.Set
		for mask := range 4 {
			set = set.Union(tags.Match(tags.Tag(i<<8|mask<<4), 0xfffff0))
		}
		e = directory.Entry{
			Instance: fmt.Sprintf("entry-%d", i), Backend: "memory", Tags: set,
			Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.9.9.9:9")}, PageBytes: 1024, MaxMessageBytes: 1024,
		}
		var err error
		last, err = b.dir.Announce(e)
		must(b.tb, err)
	}
	b.until(func() bool { return len(subscriberOf(b.s).sources) == n })
	b.on(func() { steps = -int(subscriberOf(b.s).work.Total) })
	e.Name = "changed"
	must(b.tb, last.Update(e))
	b.until(func() bool { return subscriberOf(b.s).sources[e.Instance].contact.Entry.Name == e.Name })
	b.on(func() { steps += int(subscriberOf(b.s).work.Total) })
	return steps
}

// TestSubscriber_theWorkOfADirectoryEventIsProportional: twice as many entries are at most 2.3
// times the work for one of them.
func TestSubscriber_theWorkOfADirectoryEventIsProportional(t *testing.T) {
	const size = 300
	once, twice := newScaleBed(t).announceMany(size), newScaleBed(t).announceMany(2*size)
	t.Logf("got %d and %d steps", once, twice)
	if once == 0 || float64(twice) > 2.3*float64(once) {
		t.Errorf("got %d steps for %d entries and %d for twice as many, want at most 2.3 times as many", once, size, twice)
	}
}

// TestSubscriber_Offers_theWorkIsProportional: so is the work of looking at all entries, and it is
// cut into slices.
func TestSubscriber_Offers_theWorkIsProportional(t *testing.T) {
	look := func(n int) (steps, longest int) {
		b := newScaleBed(t)
		b.announceMany(n)
		b.on(func() { subscriberOf(b.s).work.Longest = 0 })
		before := subscriberOf(b.s).work.Total
		wanted := tags.Of(0xfffff0, 0x1fffff0)
		found, err := b.s.Offers(t.Context(), wanted)
		must(t, err)
		if !found.None() || found.Publishers != n {
			t.Errorf("got %v, want none of %d publishers", found, n)
		}
		b.on(func() { steps, longest = int(subscriberOf(b.s).work.Total-before), subscriberOf(b.s).work.Longest })
		return steps, longest
	}
	size := testkit.Fewer(1000)
	once, _ := look(size)
	twice, longest := look(2 * size)
	t.Logf("got %d and %d steps, %d in one slice", once, twice, longest)
	if once == 0 || float64(twice) > 2.3*float64(once) {
		t.Errorf("got %d steps for %d entries and %d for twice as many, want at most 2.3 times as many", once, size, twice)
	}
	if longest > SliceSteps+SliceSlack {
		t.Errorf("got %d steps in one slice, want at most %d", longest, SliceSteps+SliceSlack)
	}
}
