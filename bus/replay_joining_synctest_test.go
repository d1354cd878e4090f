// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// joining is publishers that publish while others join, one goroutine per tag.
type joining struct {
	*publisher
	joined chan struct{} // closed when all have
	done   sync.WaitGroup
	last   [4]uint64 // by tag
}

// bytesOf makes some messages larger than a page.
func (j *joining) bytesOf(tag tags.Tag, n uint64) string {
	if n%100 == 0 {
		return sized(tag, n, 3000)
	}
	return sized(tag, n, 50)
}

// publish publishes while others join, and some more.
func (j *joining) publish(t *testing.T, tag tags.Tag) {
	for more := 100; more > 0; {
		select {
		case <-j.joined:
			more--
		default:
		}
		n := j.last[tag] + 1
		if err := j.PublishContext(t.Context(), tag, []byte(j.bytesOf(tag, n))); err != nil {
			t.Error(err)
			return
		}
		j.last[tag] = n
	}
}

// check looks for holes and wrong bytes.
func (j *joining) check(t *testing.T, r *replayed) {
	t.Helper()
	for tag, got := range r.counters() {
		if last := got[len(got)-1]; !slices.Equal(counters(got[0], last), got) {
			t.Errorf("tag %v: got %d messages from %d to %d, want all in order", tag, len(got), got[0], last)
		}
	}
	for _, m := range r.messages {
		if want := j.bytesOf(m.Tag, m.Counter); string(m.Data) != want {
			t.Fatalf("tag %v, counter %d: got %.12q, want %.12q", m.Tag, m.Counter, m.Data, want)
		}
	}
}

// A subscriber that joins while several goroutines publish gets old and new messages
// without a hole between them.
func TestSubscriber_joiningWhilePublishing(t *testing.T) {
	for _, streams := range []int{1, 64} {
		t.Run(fmt.Sprintf("with at most %d streams", streams), func(t *testing.T) { joinWhilePublishing(t, streams) })
	}
}

func joinWhilePublishing(t *testing.T, streams int) {
	b := newBed(t)
	all := tags.Of(0, 1, 2, 3)
	p := &joining{joined: make(chan struct{}), publisher: b.publisher(bus.PublisherConfig{
		Tags: all, Sending: bus.Sending{
			PageBytes: 1024, QueueBytes: 1 << 20, MaxMessageBytes: 4000,
			CacheMessages: 20, CacheBytes: 1 << 14,
		}, MaxStreams: streams,
	})}
	for tag := range all.All() {
		p.done.Go(func() { p.publish(t, tag) })
	}
	join := func(s *subscriber, i int) (*bus.Subscription, *replayed) {
		c := newReplayed()
		set := all
		if i%2 == 1 {
			set = tags.Of(tags.Tag(i/2%4), 3)
		}
		sub, err := s.SubscribeWith(set, c.handle, bus.SubscriptionConfig{Replay: 10})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		return sub, c
	}
	const joiners = 4
	rounds := testkit.Fewer(10)
	var received [joiners]*replayed
	for i := range joiners {
		s := b.subscriber(bus.SubscriberConfig{})
		for round := range rounds {
			sub, c := join(s, i+round)
			must(t, sub.Unsubscribe(t.Context()))
			p.check(t, c)
		}
		_, received[i] = join(s, i)
	}
	close(p.joined)
	p.done.Wait()
	must(t, p.Drain(t.Context()))
	for i, r := range received {
		p.check(t, r)
		for tag, got := range r.counters() {
			if last := got[len(got)-1]; last != p.last[tag] {
				t.Errorf("joiner %d, tag %v: the last message was %d, want %d", i, tag, last, p.last[tag])
			}
		}
		if n := len(r.counters()); i%2 == 0 && n != 4 {
			t.Errorf("joiner %d: got messages of %d tags, want 4", i, n)
		}
	}
	if st := p.Stats(); st.Replayed == 0 || st.PagesFree != st.Pages {
		t.Errorf("got %d replayed and %d of %d pages free, want some and all", st.Replayed, st.PagesFree, st.Pages)
	}
}
