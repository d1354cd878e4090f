// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"net/netip"
	"testing"

	"tagbus/bus/directory"
	"tagbus/tags"
)

// announceMany puts n entries into the directory, of publishers that are not there and
// that no subscription concerns, and returns the steps of comparing the last one with
// the others.
func (b *scaleBed) announceMany(n int) (steps int) {
	b.tb.Helper()
	for i := range n {
		var set tags.Set
		for mask := range 4 {
			set = set.Union(tags.Match(tags.Tag(i<<8|mask<<4), 0xfffff0))
		}
		_, err := b.dir.Announce(directory.Entry{
			Instance: fmt.Sprintf("entry-%d", i), Backend: "memory", Tags: set,
			Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.9.9.9:9")}, PageBytes: 1024, MaxMessageBytes: 1024,
		})
		must(b.tb, err)
	}
	b.until(func() bool { return len(b.s.sources) == n })
	b.on(func() { steps = b.s.compared })
	return steps
}

// TestTheWorkOfADirectoryEventIsProportional: twice as many entries are at most 2.3
// times the work for one of them.
func TestTheWorkOfADirectoryEventIsProportional(t *testing.T) {
	const size = 300
	once, twice := newScaleBed(t).announceMany(size), newScaleBed(t).announceMany(2*size)
	t.Logf("got %d and %d steps", once, twice)
	if once == 0 || float64(twice) > 2.3*float64(once) {
		t.Errorf("got %d steps for %d entries and %d for twice as many, want at most 2.3 times as many", once, size, twice)
	}
	if twice > turnSteps+tags.MaxSteps {
		t.Errorf("got %d steps in one turn, want at most %d", twice, turnSteps+tags.MaxSteps)
	}
}
