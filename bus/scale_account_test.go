package bus

import (
	"fmt"
	"runtime"
	"testing"

	"tagbus/internal/race"
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
		make func(p *Publisher, n int)
		tell func(p *Publisher)
	}{
		{"tags", 2000, func(p *Publisher, n int) { accountOf(&p.accounts, "one", true, 1, n) }, func(p *Publisher) { p.TagLosses("one") }},
		{"the gone", 100, func(p *Publisher, n int) {
			for i := range n {
				accountOf(&p.accounts, fmt.Sprint(i), false, 4, 10)
			}
		}, func(p *Publisher) { p.accounts.states() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			cost := func(n int) uint64 {
				p := new(Publisher)
				test.make(p, n)
				return bytes(func() { test.tell(p) })
			}
			once, twice := cost(test.size), cost(2*test.size)
			if !race.Enabled && float64(twice) > 2.3*float64(once+free) {
				t.Errorf("got %d bytes for %d and %d for twice as many, want at most 2.3 times as many", once, test.size, twice)
			}
		})
	}
}
