// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"runtime"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/tags"
)

// TestTheWorkOfTellingAccountsIsProportional: twice as many tags that have lost
// something, or subscribers that have gone, are at most 2.3 times the memory that telling
// them takes.
func TestTheWorkOfTellingAccountsIsProportional(t *testing.T) {
	const free = 64 << 10 // bytes
	bytes := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, test := range []struct {
		name string
		size int
		make func(b *book, n int)
		tell func(b *book)
	}{
		{"tags", 2000, func(b *book, n int) { open(b, "one", 1, n) }, func(b *book) {
			var all []tags.Tag
			b.Of("one").Lanes()[0].Each(func(tag tags.Tag, _ *Counts) { all = append(all, tag) })
		}},
		{"the gone", 100, func(b *book, n int) {
			for i := range n {
				b.Leave(fmt.Sprint(i), open(b, fmt.Sprint(i), 4, 10), false)
			}
		}, func(b *book) { b.Gone(); b.Sums() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			cost := func(n int) uint64 {
				var b book
				test.make(&b, n)
				return bytes(func() { test.tell(&b) })
			}
			once, twice := cost(test.size), cost(2*test.size)
			if !testkit.Race && float64(twice) > 2.3*float64(once+free) {
				t.Errorf("got %d bytes for %d and %d for twice as many, want at most 2.3 times as many", once, test.size, twice)
			}
		})
	}
}
