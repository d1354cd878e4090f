// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"net/netip"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// site is publishers that are in the directory before a subscriber is: their entries
// come to it at once.
type site struct {
	name string
	set  func(i, n int) tags.Set // of publisher i of n
}

// sites are the ways in which the tags of publishers lie among each other. No tag has two
// publishers.
var sites = []site{
	{"one range each", func(i, _ int) tags.Set {
		set, _ := tags.Range(tags.Tag(i)<<8, tags.Tag(i)<<8+99) // in order: no error
		return set
	}},
	{"100 tags each, apart", func(i, _ int) tags.Set {
		list := make([]tags.Tag, 100)
		for k := range list {
			list[k] = tags.Tag(i)<<8 + tags.Tag(2*k)
		}
		return tags.Of(list...)
	}},
	{"100 tags each, among those of all others", func(i, n int) tags.Set {
		list := make([]tags.Tag, 100)
		for k := range list {
			list[k] = tags.Tag(2 * (k*n + i))
		}
		return tags.Of(list...)
	}},
}

// arrive makes n publishers known to a subscriber at once, and returns the steps of its
// jobs until all are, and the most in one slice.
func (x site) arrive(tb testing.TB, n int) (b *scaleBed, steps, longest int) {
	tb.Helper()
	dir := memory.New()
	for i := range n {
		_, err := dir.Announce(directory.Entry{
			Instance: fmt.Sprintf("entry-%d", i), Backend: "memory", Tags: x.set(i, n),
			Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.9.9.9:9")}, PageBytes: 1024, MaxMessageBytes: 1024,
		})
		must(tb, err)
	}
	b = newScaleBedOn(tb, dir)
	sub, err := b.s.SubscribeWith(tags.Of(tags.MaxTag), func(Message) {}, SubscriptionConfig{Duplicates: DuplicatesRefuse})
	must(tb, err)
	tb.Cleanup(func() { _ = sub.Close() }) // closed with the subscriber, if that was first
	b.until(func() bool { return len(subscriberOf(b.s).sources) == n })
	b.on(func() { steps, longest = int(subscriberOf(b.s).work.Total), subscriberOf(b.s).work.Longest })
	return b, steps, longest
}

// mostTimes is how much more work four times as many publishers may be: some depends on
// how many of the events come together. If each had to be compared with all others, they
// would be 16 times the work.
const mostTimes = 10

// TestSubscriber_publishersThatAppearAtOnce: four times as many publishers, none of which has a tag
// of another, are little more than four times the work, and each slice of it is short.
func TestSubscriber_publishersThatAppearAtOnce(t *testing.T) {
	for _, x := range sites {
		t.Run(x.name, func(t *testing.T) {
			size := testkit.Fewer(1000)
			_, once, _ := x.arrive(t, size)
			_, often, longest := x.arrive(t, 4*size)
			t.Logf("got %d and %d steps, %d and %d for each", once, often, once/size, often/size/4)
			if often > mostTimes*once {
				t.Errorf("got %d steps for %d publishers and %d for four times as many, want at most %d times as many", once, size, often, mostTimes)
			}
			if longest > 2*SliceSteps {
				t.Errorf("got %d steps in one slice, want at most %d", longest, 2*SliceSteps)
			}
		})
	}
}

// TestSubscriber_aRackIsLost: publishers that go at once are little work too, and all but the last
// few are forgotten.
func TestSubscriber_aRackIsLost(t *testing.T) {
	gone := func(n int) (steps, longest int) {
		b, _, _ := sites[2].arrive(t, n)
		before := 0
		b.on(func() { before, subscriberOf(b.s).work.Longest = int(subscriberOf(b.s).work.Total), 0 })
		for i := range n {
			b.dir.Expire(fmt.Sprintf("entry-%d", i), directory.ErrDead)
		}
		b.until(func() bool { return len(subscriberOf(b.s).sources) <= maxAbsent })
		b.on(func() { steps, longest = int(subscriberOf(b.s).work.Total)-before, subscriberOf(b.s).work.Longest })
		return steps, longest
	}
	size := testkit.Fewer(1000)
	once, _ := gone(size)
	often, longest := gone(4 * size)
	t.Logf("got %d and %d steps, %d in one slice", once, often, longest)
	if often > mostTimes*once {
		t.Errorf("got %d steps for %d publishers and %d for four times as many, want at most %d times as many", once, size, often, mostTimes)
	}
	if longest > 2*SliceSteps {
		t.Errorf("got %d steps in one slice, want at most %d", longest, 2*SliceSteps)
	}
}

// BenchmarkPublishersThatAppearAtOnce is the time until a subscriber knows all of them.
func BenchmarkPublishersThatAppearAtOnce(b *testing.B) {
	for _, n := range []int{1000, 8400, 10_000} {
		for _, x := range sites {
			b.Run(fmt.Sprintf("publishers=%d/%s", n, x.name), func(b *testing.B) {
				steps, longest := 0, 0
				for b.Loop() {
					_, steps, longest = x.arrive(b, n)
				}
				b.ReportMetric(float64(steps)/float64(n), "steps/publisher")
				b.ReportMetric(float64(longest), "steps/slice")
			})
		}
	}
}
