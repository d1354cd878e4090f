// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/subscription"
	"tagbus/tags"
)

// TestPublisher_aLookForUnpublishedTagsIsWork: each of them is a look-up in the map of the known
// ones, however few of these the set has.
func TestPublisher_aLookForUnpublishedTagsIsWork(t *testing.T) {
	known, unknown := testkit.Fewer(60_000), testkit.Fewer(50_000)
	for _, test := range []struct {
		name string
		ask  func(p *publisher, s *lean, set tags.Set)
		want uint64 // looks
	}{
		{"subscribe", func(_ *publisher, s *lean, set tags.Set) {
			s.ask(t, subscription.Subscribe{ID: 1}, set)
			s.take(t)
		}, uint64(unknown)},
		{"subscribe and replay", func(_ *publisher, s *lean, set tags.Set) {
			s.ask(t, subscription.Subscribe{ID: 1, Replay: 1}, set)
			s.take(t)
		}, uint64(2 * unknown)},
		{"subscribe and unsubscribe", func(_ *publisher, s *lean, set tags.Set) {
			s.ask(t, subscription.Subscribe{ID: 1}, set)
			s.take(t)
			s.send(t, &subscription.Unsubscribe{ID: 1})
			s.take(t)
		}, uint64(2 * unknown)},
		{"drain", func(p *publisher, s *lean, set tags.Set) {
			s.ask(t, subscription.Subscribe{ID: 1}, set)
			s.take(t)
			drained := make(chan error)
			go func() { drained <- p.Drain(t.Context()) }()
			s.take(t) // the goodbye
			s.send(t, &subscription.Goodbye{})
			must(t, <-drained)
		}, uint64(2 * unknown)},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			p := b.used(known, bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1}})
			s := b.lean(p, "subscriber")
			test.ask(p, s, tagRange(t, tags.Tag(known), tags.Tag(known+unknown-1)))
			if steps, _ := bus.WorkOf(p.Publisher); steps < test.want {
				t.Errorf("got %d steps for %d looks", steps, test.want)
			}
			checkSlices(t, p)
		})
	}
}
