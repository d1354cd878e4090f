// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"tagbus/bus/directory/memory"
	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/workqueue"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// scaleBed is publishers and a subscriber whose work is counted in the steps of its
// jobs.
type scaleBed struct {
	tb   testing.TB
	net  *memnet.Network
	dir  *memory.Directory
	host netip.Addr
	s    *Subscriber
	at   netip.Addr // of s

	mu     sync.Mutex
	events map[EventKind]int
	news   chan struct{} // of one place: there was an event
	steps  map[string]int
	most   int // steps in one slice
}

func newScaleBed(tb testing.TB) *scaleBed {
	tb.Helper()
	return newScaleBedOn(tb, memory.New())
}

// newScaleBedOn is newScaleBed with a directory that may have entries.
func newScaleBedOn(tb testing.TB, dir *memory.Directory) *scaleBed {
	tb.Helper()
	b := &scaleBed{
		tb: tb, net: memnet.New(), dir: dir, host: netip.MustParseAddr("10.0.0.0"),
		events: make(map[EventKind]int), news: make(chan struct{}, 1), steps: make(map[string]int),
	}
	loop := b.loop()
	b.at = b.host
	s, err := NewSubscriber(b.net.Opener(loop, memnet.Config{Host: b.at}), b.dir, SubscriberConfig{
		Dialing: Dialing{ReconnectMin: time.Millisecond, ReconnectMax: time.Millisecond},
		Common:  Common{HeartbeatTimeout: HeartbeatsOff, OnEvent: b.note},
	})
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Close()) })
	b.s = s
	return b
}

func (b *scaleBed) note(e Event) {
	b.mu.Lock()
	b.events[e.Kind]++
	b.mu.Unlock()
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// loop makes a loop and the next host.
func (b *scaleBed) loop() *memnet.Loop {
	loop := memnet.NewLoop()
	b.tb.Cleanup(loop.Close)
	b.host = b.host.Next()
	return loop
}

// publisher opens a publisher of the tags from first on, of which it has published one
// message each.
func (b *scaleBed) publisher(first tags.Tag, n int, used bool) *Publisher {
	b.tb.Helper()
	loop := b.loop()
	set, err := tags.Range(first, first+tags.Tag(n)-1)
	must(b.tb, err)
	p, err := NewPublisher(b.net.Opener(loop, memnet.Config{Host: b.host}), b.dir, PublisherConfig{
		Tags: set, Listening: Listening{Listen: netip.AddrPortFrom(b.host, 0)}, Common: Common{HeartbeatTimeout: HeartbeatsOff},
	})
	must(b.tb, err)
	b.tb.Cleanup(func() { must(b.tb, p.Close()) })
	for i := 0; used && i < n; i++ {
		must(b.tb, p.Publish(first+tags.Tag(i), nil))
	}
	return p
}

// on runs f on the subscriber's loop.
func (b *scaleBed) on(f func()) {
	done := make(chan struct{})
	subscriberOf(b.s).loop.Post(func() { defer close(done); f() })
	<-done
}

// until waits until f holds on the loop and no job is left.
func (b *scaleBed) until(f func() bool) {
	for ok := false; !ok; {
		b.on(func() { ok = subscriberOf(b.s).work.Waiting() == 0 && f() })
	}
}

// had waits for so many events of a kind since the last op began.
func (b *scaleBed) had(kind EventKind, n int) {
	for {
		b.mu.Lock()
		have := b.events[kind]
		b.mu.Unlock()
		if have >= n {
			return
		}
		<-b.news
	}
}

// op counts the steps of what f does, and waits for.
func (b *scaleBed) op(name string, f func()) {
	b.tb.Helper()
	b.until(func() bool { return true })
	before := uint64(0)
	b.on(func() {
		c := &subscriberOf(b.s).work
		before, c.Longest = c.Total, 0
		b.mu.Lock()
		clear(b.events)
		b.mu.Unlock()
	})
	f()
	b.until(func() bool { return true })
	b.on(func() {
		c := &subscriberOf(b.s).work
		b.steps[name] = int(c.Total - before)
		b.most = max(b.most, c.Longest)
		b.tb.Logf("%-32s %8d steps, at most %d in a slice", name, b.steps[name], c.Longest)
	})
}

// cut breaks the connection to a publisher.
func (b *scaleBed) cut(p *Publisher) { b.net.Reset(p.Addr(), netip.AddrPortFrom(b.at, 0)) }

var lives = []struct {
	name  string
	size  int // to compare with twice as many
	slice int // for many slices
	limit int // with TAGBUS_TESTS=all
	life  func(*scaleBed, int)
}{
	{"used tags", 20_000, 100_000, 1_000_000, lifeOfATagSet},
	{"subscriptions", 2000, 8192, 65_536, lifeOfSubscriptions},
}

// Twice as many tags, or subscriptions, are at most 2.3 times the work in whatever
// happens to them.
func TestSubscriber_theWorkIsProportional(t *testing.T) {
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			size := testkit.Fewer(l.size)
			// How often all is looked at depends on what comes together, so the least of
			// some runs counts, and of some more if that is too much.
			least := func(size, runs int, least map[string]int) map[string]int {
				for range runs {
					b := newScaleBed(t)
					l.life(b, size)
					for op, steps := range b.steps {
						if before, ok := least[op]; !ok || steps < before {
							least[op] = steps
						}
					}
				}
				return least
			}
			const most = 2.3
			once, twice := least(size, 3, make(map[string]int)), least(2*size, 3, make(map[string]int))
			tooMuch := func(op string, steps int) bool {
				return float64(twice[op]) > most*float64(steps+100) // 100 do not depend on the number
			}
			for op, steps := range once {
				for range 20 { // a machine that does other things lets less come together
					if tooMuch(op, steps) {
						twice = least(2*size, 1, twice)
					}
				}
			}
			for op, steps := range once {
				t.Logf("%-32s %8d and %8d steps", op, steps, twice[op])
				if tooMuch(op, steps) {
					t.Errorf("%s: got %d steps for %d and %d for twice as many, want at most 2.3 times as many", op, steps, size, twice[op])
				}
				if steps > 100*size {
					t.Errorf("%s: got %d steps for %d, want at most 100 for each", op, steps, size)
				}
			}
		})
	}
}

// mostSteps is what a slice may take: its budget, and what one control message of a
// publisher or one call causes at once.
var mostSteps = workqueue.SliceSteps + 8192*(intake.StepsPerTag+4)

// However many tags there are, or subscriptions, the loop is given back soon. With
// TAGBUS_TESTS=all there are as many as the documentation promises, for some minutes.
func TestSubscriber_noSliceWorksLong(t *testing.T) {
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			size := testkit.Fewer(l.slice)
			if testkit.All() && !testkit.Race {
				size = l.limit
			}
			b := newScaleBed(t)
			l.life(b, size)
			if b.most > mostSteps {
				t.Errorf("got %d steps in one slice, want at most %d", b.most, mostSteps)
			}
		})
	}
}
