// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/tags"
)

// TestSubscriber_TagPositions_theBeginOfASilentTagIsKnown: TagPositions lists a tag of which nothing came, and
// TagStats does not.
func TestSubscriber_TagPositions_theBeginOfASilentTagIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3)})
		for tag, n := range map[tags.Tag]int{1: 3, 2: 5} {
			for range n {
				must(t, p.Publish(tag, nil))
			}
		}
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1, 2, 3), ignore)
		must(t, p.Publish(2, nil))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		all, err := s.TagPositions(t.Context())
		must(t, err)
		type begin struct{ position, published uint64 }
		got := make(map[tags.Tag]begin)
		for _, st := range all {
			got[st.Tag] = begin{st.Position, st.Published}
		}
		if len(got) != 2 || got[1] != (begin{3, 0}) || got[2] != (begin{6, 1}) {
			t.Errorf("got %v, want tag 1 at 3 and tag 2 at 6 after one message", got)
		}
		some, err := s.TagStats(t.Context())
		must(t, err)
		if len(some) != 1 || some[0].Tag != 2 {
			t.Errorf("got %v, want tag 2 alone", some)
		}
	})
}
