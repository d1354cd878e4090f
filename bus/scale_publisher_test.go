// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"maps"
	"runtime"
	"slices"
	"testing"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/subscription"
	"tagbus/tags"
)

// price is what an operation has cost.
type price struct {
	steps uint64 // of the publisher's jobs, and of its walks through tags
	bytes uint64 // allocated by the whole process, so that work without steps shows too
}

// prices counts what the operations on a publisher cost.
type prices struct {
	*bed
	p  *publisher
	of map[string]price
}

// op counts what f costs.
func (b *prices) op(name string, f func()) {
	b.tb.Helper()
	now := func() price {
		steps, _ := bus.WorkOf(b.p.Publisher)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return price{steps + bus.WalkedBy(b.p.Publisher), m.TotalAlloc}
	}
	before := now()
	f()
	after := now()
	b.of[name] = price{after.steps - before.steps, after.bytes - before.bytes}
	b.tb.Logf("%-40s %9d steps %10d bytes", name, b.of[name].steps, b.of[name].bytes)
}

// open opens the publisher whose work is counted, with the tags from 0 to last.
func (b *prices) open(last int, cfg bus.PublisherConfig) {
	b.tb.Helper()
	cfg.Tags = tagRange(b.tb, 0, tags.Tag(last))
	b.p = b.publisher(cfg)
}

// publish publishes a message of each of some tags.
func (b *prices) publish(list []tags.Tag) {
	b.tb.Helper()
	for _, tag := range list {
		must(b.tb, b.p.PublishContext(b.tb.Context(), tag, nil))
	}
}

// wants waits for n answers of a kind.
func (s *lean) wants(tb testing.TB, kind subscription.Kind, n int) {
	tb.Helper()
	for range n {
		if m := s.take(tb); m.Kind() != kind {
			tb.Fatalf("got %v, want kind %#x", m, kind)
		}
	}
}

// subscribed asks for a set and waits for the answer.
func (s *lean) subscribed(tb testing.TB, m subscription.Subscribe, set tags.Set) {
	tb.Helper()
	s.ask(tb, m, set)
	s.wants(tb, subscription.KindSubscribed, 1)
}

// quits leaves in order, and waits until the publisher is done with it.
func (b *prices) quits(s *lean) {
	b.tb.Helper()
	done := make(chan struct{})
	b.p.when(bus.Lost, func() { close(done) })
	s.send(b.tb, &subscription.Goodbye{})
	if err := <-s.ended; err != nil {
		b.tb.Log(err)
	}
	<-done
}

var publisherLives = []struct {
	name     string
	size     int // by default
	limit    int // with TAGBUS_TESTS=all
	life     func(*prices, int)
	constant []string // operations that take as many steps, however many there are
}{
	{"tags and ranges", 5000, subscription.MaxParts, tagsOfAPublisher, nil},
	{"subscriptions in a group", 1000, 1 << 16, groupsOfAPublisher, []string{"stats"}},
	{"connections", 64, bus.DefaultMaxSubscribers - 1, subscribersOfAPublisher, nil},
	{"routes", 2000, 100_000, routesOfAPublisher, []string{"subscribe to one tag"}},
	{"lanes", 500, 20_000, lanesOfAPublisher, nil},
}

// TestPublisher_theWorkIsProportional: twice as many tags, subscriptions,
// connections, routes or lanes are at most 2.3 times the work in whatever happens to
// them.
func TestPublisher_theWorkIsProportional(t *testing.T) {
	const (
		freeSteps = 500       // do not depend on the number
		freeBytes = 512 << 10 // nor do these
	)
	for _, l := range publisherLives {
		t.Run(l.name, func(t *testing.T) {
			// What comes together, and what else allocates, differs from run to run.
			least := func(size int, of map[string]price) map[string]price {
				least := maps.Clone(of)
				for range 2 {
					b := &prices{bed: newBed(t), of: make(map[string]price)}
					l.life(b, size)
					for op, cost := range b.of {
						if before, ok := least[op]; ok {
							cost = price{min(cost.steps, before.steps), min(cost.bytes, before.bytes)}
						}
						least[op] = cost
					}
				}
				return least
			}
			tooMany := func(one, two price) bool {
				return !testkit.Race && float64(two.bytes) > 2.3*float64(one.bytes+freeBytes)
			}
			size := testkit.Fewer(l.size)
			once, twice := least(size, map[string]price{}), least(2*size, map[string]price{})
			for range 3 { // a loop that stands still lets pages gather, which take memory
				if !slices.ContainsFunc(slices.Collect(maps.Keys(once)), func(op string) bool { return tooMany(once[op], twice[op]) }) {
					break
				}
				twice = least(2*size, twice)
			}
			for op, one := range once {
				two := twice[op]
				if float64(two.steps) > 2.3*float64(one.steps+freeSteps) {
					t.Errorf("%s: got %d steps for %d and %d for twice as many, want at most 2.3 times as many", op, one.steps, size, two.steps)
				}
				if tooMany(one, two) {
					t.Errorf("%s: got %d bytes allocated for %d and %d for twice as many, want at most 2.3 times as many", op, one.bytes, size, two.bytes)
				}
			}
			for _, op := range l.constant {
				if one, two := once[op], twice[op]; two.steps > one.steps+freeSteps {
					t.Errorf("%s: got %d steps for %d and %d for twice as many, want as many", op, one.steps, size, two.steps)
				}
			}
		})
	}
}

// limits reports whether the tests are to go to the limits that the documentation
// promises. Under the race detector they do not: steps and bytes are counted, and
// they are the same there.
func limits() bool { return testkit.All() && !testkit.Race }

// TestPublisher_noSliceWorksLong: however many there are, the loop is given back
// soon. With TAGBUS_TESTS=all there are as many as the documentation promises.
func TestPublisher_noSliceWorksLong(t *testing.T) {
	for _, l := range publisherLives {
		t.Run(l.name, func(t *testing.T) {
			size := testkit.Fewer(4 * l.size)
			if limits() {
				size = l.limit
			}
			b := &prices{bed: newBed(t), of: make(map[string]price)}
			l.life(b, size)
			checkSlices(t, b.p)
		})
	}
}
