// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"sync"
	"testing"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/subscription"
	"tagbus/tags"
)

// TestSubscription_changesSetsWhilePublishing changes the tags of live subscriptions while
// goroutines publish: the unchanged tag goes on without a gap, and those that come and
// go are exact from each acknowledgement on.
func TestSubscription_changesSetsWhilePublishing(t *testing.T) {
	for _, streams := range []int{1, 64} {
		b := newBed(t)
		all := tagRange(t, 0, 5)
		p := b.publisher(bus.PublisherConfig{
			Tags: all, Sending: bus.Sending{PageBytes: 512, QueueBytes: 8192, MaxMessageBytes: 1000},
			MaxStreams: streams,
		})
		stop := make(chan struct{})
		var publishing sync.WaitGroup
		for tag := range tags.Tag(5) {
			publishing.Go(func() { publishUntil(t, p.Publisher, []tags.Tag{tag}, stop) })
		}
		var changing sync.WaitGroup
		for i := range tags.Tag(3) {
			s := b.subscriber(bus.SubscriberConfig{})
			changing.Go(func() { changeAgain(t, s, tags.Of(4), i) })
		}
		changing.Go(func() { // tag 5 is never published: it only moves the others about
			for range testkit.Fewer(50) {
				if err := p.RemoveTags(tags.Of(5)); err != nil {
					t.Error(err)
				}
				if err := p.AddTags(tags.Of(5)); err != nil {
					t.Error(err)
				}
			}
		})
		changing.Wait()
		close(stop)
		publishing.Wait()
		must(t, p.Drain(t.Context()))
	}
}

// changeAgain adds and removes tags of a subscription that keeps one.
func changeAgain(t *testing.T, s *subscriber, kept tags.Set, first tags.Tag) {
	last := make(map[tags.Tag]uint64)
	fresh := make(map[tags.Tag]bool) // added since its last message
	got := make(chan tags.Tag, 1)
	var mu sync.Mutex
	sub, err := s.Subscribe(kept, func(m bus.Message) {
		mu.Lock()
		defer mu.Unlock()
		if string(m.Data) != string(payload(m.Tag, m.Counter)) {
			t.Errorf("tag %v arrived as %d: got %.20s", m.Tag, m.Counter, m.Data)
		}
		if before, ok := last[m.Tag]; ok && m.Counter != before+1 && (!fresh[m.Tag] || m.Counter <= before) {
			t.Errorf("tag %v: counter %d after %d", m.Tag, m.Counter, before)
		}
		last[m.Tag], fresh[m.Tag] = m.Counter, false
		select {
		case got <- m.Tag:
		default:
		}
	})
	if err != nil {
		t.Error(err)
		return
	}
	for i := range tags.Tag(testkit.Fewer(50)) {
		set := tags.Of((first+i)%4, (first+i+1)%4)
		mu.Lock()
		for tag := range set.All() {
			fresh[tag] = true
		}
		mu.Unlock()
		if err := sub.Add(set); err != nil {
			t.Error(err)
		}
		if err := sub.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		for tag := range got {
			if set.Contains(tag) {
				break
			}
		}
		if err := sub.Remove(set); err != nil {
			t.Error(err)
		}
		if i%2 == 0 {
			if err := sub.Wait(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
	if st := s.Stats(); st.Lost > 0 {
		t.Errorf("%d messages reported lost", st.Lost)
	}
	if err := sub.Unsubscribe(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestSubscription_largeSets is 100,000 tags on one publisher and as many exact tags in one
// subscription as its issue asks for.
func TestSubscription_largeSets(t *testing.T) {
	newLargeSets(t).everything(t)
}

// largeSets is a publisher of 100,000 tags, all of which were published, and a
// subscriber to 65,536 of them, no two of which are neighbours.
type largeSets struct {
	p    *publisher
	s    *subscriber
	list []tags.Tag // of the publisher; even ones are subscribed to
	set  tags.Set
	got  map[tags.Tag]uint64
}

const largeSubscription = 65536

func newLargeSets(tb testing.TB) *largeSets {
	tb.Helper()
	b := newBed(tb)
	x := &largeSets{list: make([]tags.Tag, 2*largeSubscription), got: make(map[tags.Tag]uint64)}
	for i := range x.list { // as e-links of many links
		x.list[i] = 0x1000013000000000 + tags.Tag(i)<<16
	}
	var odd []tags.Tag
	for i := 0; i < len(x.list); i += 2 {
		odd = append(odd, x.list[i])
	}
	x.set = tags.Of(odd...)
	x.p = b.publisher(bus.PublisherConfig{Tags: tags.Of(x.list[:100_000]...)})
	for _, tag := range x.list[:100_000] {
		must(tb, x.p.Publish(tag, nil))
	}
	x.s = b.subscriber(bus.SubscriberConfig{})
	return x
}

func (x *largeSets) everything(tb testing.TB) {
	tb.Helper()
	ctx := context.Background()
	last := make(chan struct{})
	sub, err := x.s.Subscribe(x.set, func(m bus.Message) {
		x.got[m.Tag] = m.Counter
		if len(m.Data) > 0 {
			close(last)
		}
	})
	must(tb, err)
	must(tb, sub.Wait(ctx))
	must(tb, sub.Add(tags.Of(x.list[1])))
	must(tb, sub.Wait(ctx))
	must(tb, x.p.AddTags(tags.Of(x.list[100_002])))
	must(tb, x.p.WaitSubscribers(ctx, 1, tags.Of(x.list[1], x.list[100_002])))
	for _, i := range []int{0, 1, 3, 99_998, 100_002} {
		must(tb, x.p.PublishContext(ctx, x.list[i], nil))
	}
	must(tb, x.p.PublishContext(ctx, x.list[2], []byte("last")))
	<-last
	want := map[tags.Tag]uint64{x.list[0]: 2, x.list[1]: 2, x.list[99_998]: 2, x.list[100_002]: 1, x.list[2]: 2}
	for tag, counter := range want {
		if x.got[tag] != counter {
			tb.Errorf("tag %v: got counter %d, want %d", tag, x.got[tag], counter)
		}
	}
	if len(x.got) != len(want) {
		tb.Errorf("got messages of %d tags, want %d", len(x.got), len(want))
	}
	must(tb, sub.Unsubscribe(ctx))
	if st := x.s.Stats(); st.Lost != 0 || st.Unwanted != 0 {
		tb.Errorf("got %+v, want nothing lost or unwanted", st)
	}
}

// BenchmarkLargeSubscription measures the life of a subscription to 65,536
// exact tags of a publisher of 100,000: subscribe, one tag more, unsubscribe.
func BenchmarkLargeSubscription(b *testing.B) {
	x := newLargeSets(b)
	ctx := context.Background()
	handle := func(bus.Message) {}
	keep := subscribe(b, x.s, tags.Of(x.list[1]), handle) // so that the connection stays
	b.Run("subscribe and unsubscribe", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(b, subscribe(b, x.s, x.set, handle).Unsubscribe(ctx))
		}
	})
	b.Run("add one and remove it", func(b *testing.B) {
		sub := subscribe(b, x.s, x.set, handle)
		one := tags.Of(x.list[1])
		b.ReportAllocs()
		for b.Loop() {
			must(b, sub.Add(one))
			must(b, sub.Wait(ctx))
			must(b, sub.Remove(one))
			must(b, sub.Wait(ctx))
		}
		must(b, sub.Unsubscribe(ctx))
	})
	b.Run("grow by one to all", func(b *testing.B) {
		for b.Loop() {
			sub := subscribe(b, x.s, tags.Of(x.list[0]), handle)
			for i := 2; i < len(x.list); i += 2 {
				must(b, sub.Add(tags.Of(x.list[i])))
			}
			must(b, sub.Wait(ctx))
			must(b, sub.Unsubscribe(ctx))
		}
	})
	must(b, keep.Unsubscribe(ctx))
	if x.set.Parts() != largeSubscription || x.set.Parts() > subscription.MaxParts {
		b.Errorf("the set has %d parts", x.set.Parts())
	}
}
