// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/subscription"
	"tagbus/tags"
)

// working waits until the publisher has begun a job that takes more than one slice.
func working(p *publisher) {
	for steps, _ := bus.WorkOf(p.Publisher); steps == 0; steps, _ = bus.WorkOf(p.Publisher) {
	}
}

// settled waits until no tag of the publisher has a route to a subscriber.
func settled(p *publisher, known int) {
	for bus.RoutedTo(p.Publisher, 0) != known {
		bus.WorkOf(p.Publisher) // a turn of its loop
	}
}

// masks returns a set of n masks, of which each has a part of the tags below 2^16.
func masks(n, variant int) tags.Set {
	var sets []tags.Set
	for i := range n {
		mask := tags.Tag(1<<63 | 0x8001<<1)
		sets = append(sets, tags.Match(tags.Tag(i)<<24|tags.Tag(variant&1)<<1, mask|0xffff<<24))
	}
	return tags.Union(sets...)
}

// TestPublisher_WaitSubscribers_waitsForTheLastTag: what is published when it returns goes to
// the subscriber, however long it took to move its tags.
func TestPublisher_WaitSubscribers_waitsForTheLastTag(t *testing.T) {
	const known = 30_000
	b := newBed(t)
	p := b.used(known, bus.PublisherConfig{})
	s := b.lean(p, "waited for")
	s.ask(t, subscription.Subscribe{ID: 1}, p.Tags())
	must(t, p.WaitSubscribers(t.Context(), 1, p.Tags()))
	if n := bus.RoutedTo(p.Publisher, 1); n != known {
		t.Errorf("got %d of %d tags on their way to the subscriber", n, known)
	}
}

// TestPublisher_aConnectionEndsInTheMiddleOfASubscription leaves nothing behind.
func TestPublisher_aConnectionEndsInTheMiddleOfASubscription(t *testing.T) {
	const known = 30_000
	b := newBed(t)
	p := b.used(known, bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1}})
	for i := range 3 {
		s := b.lean(p, fmt.Sprint("gone ", i))
		s.ask(t, subscription.Subscribe{ID: 1, Replay: 1}, p.Tags())
		working(p)
		must(t, s.ep.Close())
		must(t, <-s.ended)
	}
	settled(p, known)
	if routes, streams, shared := bus.RoutesOf(p.Publisher); routes != 1 || streams != 1 || shared != 0 {
		t.Errorf("got %d routes and %d streams, %d of them shared; want the one without subscribers", routes, streams, shared)
	}
	if st := p.Stats(); st.PagesFree != st.Pages {
		t.Errorf("got %d of %d pages free", st.PagesFree, st.Pages)
	}
	checkSlices(t, p)
}

// TestPublisher_Close_inTheMiddleOfASubscription gives back all its pages, which
// Close checks.
func TestPublisher_Close_inTheMiddleOfASubscription(t *testing.T) {
	for _, end := range []string{"close", "drain"} {
		t.Run(end, func(t *testing.T) {
			b := newBed(t)
			p := b.used(30_000, bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1}})
			s := b.lean(p, "subscriber")
			s.ask(t, subscription.Subscribe{ID: 1, Replay: 1}, p.Tags())
			working(p)
			if end == "drain" {
				drained := make(chan error)
				go func() { drained <- p.Drain(t.Context()) }()
				for m := s.take(t); m.Kind() != subscription.KindGoodbye || len(m.(*subscription.Goodbye).List) > 0; m = s.take(t) {
				}
				s.send(t, &subscription.Received{})
				s.send(t, &subscription.Received{Messages: 30_000})
				s.send(t, &subscription.Goodbye{})
				must(t, <-drained)
			}
			must(t, p.Close())
		})
	}
}

// TestPublisher_aSubscriberComesBackInTheMiddleOfItsEnd is served when nothing leads to its
// old connection any more.
func TestPublisher_aSubscriberComesBackInTheMiddleOfItsEnd(t *testing.T) {
	const known = 30_000
	b := newBed(t)
	p := b.used(known, bus.PublisherConfig{})
	for range 5 {
		s := b.lean(p, "the same")
		s.ask(t, subscription.Subscribe{ID: 1}, p.Tags())
		if m := s.take(t); m.Kind() != subscription.KindSubscribed {
			t.Fatalf("got %v, want it to be subscribed", m)
		}
		if s.positions != known {
			t.Errorf("got %d positions, want %d", s.positions, known)
		}
	}
	if n := bus.RoutedTo(p.Publisher, 1); n != known {
		t.Errorf("got %d of %d tags with one subscriber", n, known)
	}
	if n := len(p.Stats().Subscribers); n != 1 {
		t.Errorf("got %d subscribers, want 1", n)
	}
	checkSlices(t, p)
}

// TestPublisher_aSmallRequestDoesNotWaitForALargeOne: the jobs of links take turns.
func TestPublisher_aSmallRequestDoesNotWaitForALargeOne(t *testing.T) {
	const known = 60_000
	t.Cleanup(bus.SetSliceSteps(256)) // so that the large one takes very many
	b := newBed(t)
	p := b.used(known, bus.PublisherConfig{})
	large, small := b.lean(p, "large"), b.lean(p, "small")
	large.ask(t, subscription.Subscribe{ID: 1}, p.Tags())
	working(p)
	small.ask(t, subscription.Subscribe{ID: 1}, tags.Of(7))
	if m := small.take(t); m.Kind() != subscription.KindSubscribed {
		t.Fatalf("got %v, want it to be subscribed", m)
	}
	if n := bus.RoutedTo(p.Publisher, 1) + bus.RoutedTo(p.Publisher, 2); n == known {
		t.Error("the small one was acknowledged when the large one was done")
	}
	if m := large.take(t); m.Kind() != subscription.KindSubscribed {
		t.Fatalf("got %v, want it to be subscribed", m)
	}
}

// TestPublisher_changesOfMasksAreWorkedOnInSlices: a subscriber changes as many masks as it may
// have, again and again, while others subscribe.
func TestPublisher_changesOfMasksAreWorkedOnInSlices(t *testing.T) {
	b := newBed(t)
	p := b.used(20_000, bus.PublisherConfig{})
	s := b.lean(p, "masks")
	for i := range 6 {
		s.ask(t, subscription.Subscribe{ID: 1}, masks(subscription.MaxMasks, i))
		other := b.lean(p, fmt.Sprint("other ", i))
		other.ask(t, subscription.Subscribe{ID: 1}, tags.Of(tags.Tag(i)))
		for _, s := range []*lean{s, other} {
			if m := s.take(t); m.Kind() != subscription.KindSubscribed {
				t.Fatalf("got %v, want it to be subscribed", m)
			}
		}
	}
	checkSlices(t, p)
}

// TestSubscription_thatChangesGoesOnWithTheTagsOfBothSets while its tags move, with
// ranges and with masks.
func TestSubscription_thatChangesGoesOnWithTheTagsOfBothSets(t *testing.T) {
	known := testkit.Fewer(20_000)
	random := rand.New(rand.NewPCG(3, 4))
	for _, test := range []struct {
		name string
		sets func() (a, b tags.Set)
		both tags.Tag
	}{
		{"ranges", func() (a, b tags.Set) {
			return half(random, known).Union(tags.Of(7)), half(random, known).Union(tags.Of(7))
		}, 7},
		{"masks", func() (a, b tags.Set) { return tags.Match(0, 2), tags.Match(0, 4) }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			// A flood on a machine with other work may keep a side silent for long.
			quiet := bus.Common{HeartbeatInterval: bus.HeartbeatsOff}
			p := b.used(known, bus.PublisherConfig{Common: quiet})
			s := b.subscriber(bus.SubscriberConfig{Common: quiet})
			first, second := test.sets()
			var got []uint64
			sub := subscribe(t, s, first, func(m bus.Message) {
				if m.Tag == test.both {
					got = append(got, m.Counter)
				}
			})
			must(t, sub.Wait(t.Context()))
			stop, stopped := make(chan struct{}), make(chan uint64)
			go func() {
				n := uint64(1) // by used
				for ; ; n++ {
					select {
					case <-stop:
						stopped <- n
						return
					default:
						if p.PublishContext(context.Background(), test.both, nil) != nil {
							stopped <- 0
							return
						}
					}
				}
			}()
			gone, err := first.Without(second)
			must(t, err)
			come, err := second.Without(first)
			must(t, err)
			for range 3 {
				must(t, sub.Add(come))
				must(t, sub.Remove(gone))
				must(t, sub.Wait(t.Context()))
				must(t, sub.Remove(come))
				must(t, sub.Add(gone))
				must(t, sub.Wait(t.Context()))
			}
			close(stop)
			want := <-stopped
			must(t, p.Drain(t.Context()))
			if st := s.Stats(); st.Lost != 0 || want == 0 || len(got) == 0 || got[len(got)-1] != want {
				t.Errorf("got %+v and %d messages, of %d published; want none lost", st, len(got), want)
			}
			for i := 1; i < len(got); i++ {
				if got[i] != got[i-1]+1 {
					t.Fatalf("got message %d after %d", got[i], got[i-1])
				}
			}
			checkSlices(t, p)
		})
	}
}
