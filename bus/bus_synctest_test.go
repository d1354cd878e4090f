// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/tags"
)

func TestSubscriber_receivesWhatIsPublishedAfterAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3)})
		s := b.subscriber(bus.SubscriberConfig{})
		must(t, p.Publish(1, []byte("early")))
		var got []string
		sub, err := s.Subscribe(tags.Of(1, 3), func(m bus.Message) {
			got = append(got, fmt.Sprintf("%d/%d/%d:%s", m.Tag, m.Status, m.Counter, m.Data))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := sub.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		must(t, p.Publish(1, []byte("a")))
		must(t, p.Publish(2, []byte("b")))
		must(t, p.PublishStatus(3, 7, []byte("c")))
		must(t, p.Publish(1, nil))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		want := fmt.Sprint([]string{"1/0/2:a", "3/7/1:c", "1/0/3:"})
		if fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
		wantEvents := fmt.Sprint([]bus.EventKind{bus.Connected, bus.Subscribed, bus.Goodbye})
		if got := fmt.Sprint(s.kinds()); got != wantEvents {
			t.Errorf("events: got %v, want %v\n%v", got, wantEvents, s.events)
		}
	})
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
