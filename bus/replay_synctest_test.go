// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// sized makes the message that has this counter, of about n bytes.
func sized(tag tags.Tag, counter uint64, n int) string {
	text := fmt.Sprintf("%d:%d:", tag, counter)
	return text + strings.Repeat(string('a'+rune(counter%26)), max(0, n-len(text)))
}

// counters returns the counters from first to last.
func counters(first, last uint64) (list []uint64) {
	for ; first <= last; first++ {
		list = append(list, first)
	}
	return list
}

type lateJoiner struct {
	name   string
	depth  int // of the cache
	bytes  int
	cfg    bus.SubscriptionConfig
	counts map[tags.Tag]uint64 // published before
	size   int
	want   map[tags.Tag][]uint64 // counters of what comes before anything new
}

func TestSubscriber_thatJoinsLateGetsWhatIsKept(t *testing.T) {
	tests := []lateJoiner{
		{"nothing without a cache", 0, 0, bus.SubscriptionConfig{Replay: 5}, map[tags.Tag]uint64{1: 9}, 20, nil},
		{"nothing unless asked for", 5, 0, bus.SubscriptionConfig{}, map[tags.Tag]uint64{1: 9}, 20, nil},
		{
			"the newest of each tag", 5, 0,
			bus.SubscriptionConfig{Replay: 2},
			map[tags.Tag]uint64{1: 9, 2: 4},
			20,
			map[tags.Tag][]uint64{1: {8, 9}, 2: {3, 4}},
		},
		{
			"at most what is kept", 3, 0,
			bus.SubscriptionConfig{Replay: 100},
			map[tags.Tag]uint64{1: 9, 2: 2},
			20,
			map[tags.Tag][]uint64{1: {7, 8, 9}, 2: {1, 2}},
		},
		{
			"everything from the first message on", 100, 0,
			bus.SubscriptionConfig{Replay: 100},
			map[tags.Tag]uint64{1: 50, 2: 3},
			20,
			map[tags.Tag][]uint64{1: counters(1, 50), 2: {1, 2, 3}},
		},
		{
			"what the memory holds", 100, 4096,
			bus.SubscriptionConfig{Replay: 100},
			map[tags.Tag]uint64{1: 40},
			20,
			map[tags.Tag][]uint64{1: counters(9, 40)},
		}, // 32 blocks
		{
			"messages of several pages", 5, 0,
			bus.SubscriptionConfig{Replay: 2},
			map[tags.Tag]uint64{1: 3},
			1500,
			map[tags.Tag][]uint64{1: {2, 3}},
		},
		{
			"messages that fill a page", 5, 0,
			bus.SubscriptionConfig{Replay: 3},
			map[tags.Tag]uint64{1: 4},
			512 - 21,
			map[tags.Tag][]uint64{1: {2, 3, 4}},
		},
		{"empty messages", 5, 0, bus.SubscriptionConfig{Replay: 3}, map[tags.Tag]uint64{1: 4}, 0, map[tags.Tag][]uint64{1: {2, 3, 4}}},
		{
			"with drop-newest", 5, 0,
			bus.SubscriptionConfig{Replay: 2, Policy: bus.Policy{Kind: bus.DropNewest}},
			map[tags.Tag]uint64{1: 9},
			20,
			map[tags.Tag][]uint64{1: {8, 9}},
		},
		{
			"with drop-oldest", 5, 0,
			bus.SubscriptionConfig{Replay: 2, Policy: bus.Policy{Kind: bus.DropOldest}},
			map[tags.Tag]uint64{1: 9},
			20,
			map[tags.Tag][]uint64{1: {8, 9}},
		},
		{
			"with disconnect", 5, 0,
			bus.SubscriptionConfig{Replay: 2, Policy: bus.Policy{Kind: bus.Disconnect, After: time.Second}},
			map[tags.Tag]uint64{1: 9},
			20,
			map[tags.Tag][]uint64{1: {8, 9}},
		},
		{
			"with latest only the newest", 5, 0,
			bus.SubscriptionConfig{Replay: 4, Policy: bus.Policy{Kind: bus.Latest}},
			map[tags.Tag]uint64{1: 9, 2: 1, 3: 4},
			20,
			map[tags.Tag][]uint64{1: {9}, 2: {1}, 3: {4}},
		},
		{
			"with latest and large messages", 5, 0,
			bus.SubscriptionConfig{Replay: 1, Policy: bus.Policy{Kind: bus.Latest}},
			map[tags.Tag]uint64{1: 9},
			1500,
			map[tags.Tag][]uint64{1: {9}},
		},
		{
			"with sample those asked for", 5, 0,
			bus.SubscriptionConfig{Replay: 3, Policy: bus.Policy{Kind: bus.Sample, Every: 2}},
			map[tags.Tag]uint64{1: 9},
			20,
			map[tags.Tag][]uint64{1: {7, 8, 9}},
		},
		// The queue has 8192 bytes, half of them for old messages.
		{
			"as many of each tag as there is room for", 50, 0,
			bus.SubscriptionConfig{Replay: 50},
			map[tags.Tag]uint64{1: 50, 2: 50, 3: 2},
			100,
			map[tags.Tag][]uint64{1: counters(37, 50), 2: counters(37, 50), 3: {1, 2}},
		},
		{
			"no more than the subscription's own backlog", 50, 0,
			bus.SubscriptionConfig{Replay: 50, BacklogBytes: 2048},
			map[tags.Tag]uint64{1: 50},
			100,
			map[tags.Tag][]uint64{1: counters(44, 50)},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { synctest.Test(t, test.check) })
	}
}

func (j lateJoiner) check(t *testing.T) {
	b := newBed(t)
	all := tags.Of(1, 2, 3)
	p := b.publisher(bus.PublisherConfig{
		Tags: all, Sending: bus.Sending{
			PageBytes: 512, QueueBytes: 8192, MaxMessageBytes: 2000,
			CacheMessages: j.depth, CacheBytes: j.bytes,
		},
	})
	for round := uint64(1); round <= 50; round++ {
		for tag := range all.All() {
			if round <= j.counts[tag] {
				must(t, p.PublishStatus(tag, bus.Status(round), []byte(sized(tag, round, j.size))))
			}
		}
	}
	s, c := b.subscriber(bus.SubscriberConfig{}), newReplayed()
	sub, err := s.SubscribeWith(all, c.handle, j.cfg)
	must(t, err)
	must(t, sub.Wait(t.Context()))
	synctest.Wait()
	if d := cmp.Diff(j.want, c.counters()); d != "" {
		t.Errorf("old messages (-want +got):\n%s", d)
	}
	if st := p.Stats().Subscribers; len(st) != 1 || st[0].Queued != 0 {
		t.Errorf("got %+v, want one subscriber that holds no page", st)
	}
	for tag := range all.All() {
		n := j.counts[tag] + 1
		must(t, p.PublishStatus(tag, bus.Status(n), []byte(sized(tag, n, j.size))))
	}
	must(t, p.Drain(t.Context()))
	synctest.Wait()
	for tag := range all.All() {
		want := append(slices.Clone(j.want[tag]), j.counts[tag]+1)
		if d := cmp.Diff(want, c.counters()[tag]); d != "" {
			t.Errorf("all messages of tag %v (-want +got):\n%s", tag, d)
		}
	}
	c.check(t, j.size)
	for _, m := range c.messages {
		if m.Status != bus.Status(m.Counter) {
			t.Errorf("tag %v, counter %d: got status %d", m.Tag, m.Counter, m.Status)
		}
	}
	if gaps := s.of(bus.Gap); len(gaps) > 0 {
		t.Errorf("gaps: got %v, want none", gaps)
	}
	old := 0
	for _, list := range j.want {
		old += len(list)
	}
	if st := p.Stats(); st.Replayed != uint64(old) || st.PagesFree != st.Pages {
		t.Errorf("got %d replayed and %d of %d pages free, want %d and all", st.Replayed, st.PagesFree, st.Pages, old)
	}
}

// replayed records messages.
type replayed struct{ messages []bus.Message }

func newReplayed() *replayed { return &replayed{} }

func (r *replayed) handle(m bus.Message) {
	m.Data = slices.Clone(m.Data)
	r.messages = append(r.messages, m)
}

// counters returns the counters by tag, nil for none.
func (r *replayed) counters() (c map[tags.Tag][]uint64) {
	for _, m := range r.messages {
		if c == nil {
			c = make(map[tags.Tag][]uint64)
		}
		c[m.Tag] = append(c[m.Tag], m.Counter)
	}
	return c
}

// check compares the bytes with what sized has made.
func (r *replayed) check(tb testing.TB, size int) {
	tb.Helper()
	for _, m := range r.messages {
		if want := sized(m.Tag, m.Counter, size); string(m.Data) != want {
			tb.Errorf("tag %v, counter %d: got %.40q, want %.40q", m.Tag, m.Counter, m.Data, want)
		}
	}
}

func TestSubscriber_manyTagsAreReplayed(t *testing.T) {
	const known = 5000
	tests := []struct {
		name      string
		queue     int
		perTag    int // expected; 0: of some one, of the others none
		positions bool
	}{
		{"when there is room, all that is asked for", 4 << 20, 3, false},
		{"when there is little, the newest of each", 600 << 10, 1, false},
		{"when there is too little, the newest of some", 100 << 10, 0, false},
		{"with the policy latest", 4 << 20, 1, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				all, err := tags.Range(1, known)
				must(t, err)
				p := b.publisher(bus.PublisherConfig{
					Tags: all, Sending: bus.Sending{PageBytes: 4096, QueueBytes: test.queue, MaxMessageBytes: 1000, CacheMessages: 3},
				})
				for round := uint64(1); round <= 4; round++ {
					for tag := range all.All() {
						must(t, p.Publish(tag, []byte(sized(tag, round, 40))))
					}
				}
				s, c := b.subscriber(bus.SubscriberConfig{}), newReplayed()
				cfg := bus.SubscriptionConfig{Replay: 3}
				if test.positions {
					cfg.Policy.Kind = bus.Latest
				}
				sub, err := s.SubscribeWith(all, c.handle, cfg)
				must(t, err)
				must(t, sub.Wait(t.Context()))
				must(t, p.Drain(t.Context()))
				synctest.Wait()
				c.check(t, 40)
				got := c.counters()
				for tag, list := range got {
					want := counters(uint64(4-test.perTag+1), 4)
					if test.perTag == 0 {
						want = []uint64{4}
					}
					if !slices.Equal(list, want) {
						t.Fatalf("tag %v: got %v, want %v", tag, list, want)
					}
				}
				if n := len(got); test.perTag > 0 && n != known || n < 100 || test.perTag == 0 && n == known {
					t.Errorf("got messages of %d tags of %d", n, known)
				}
				if gaps := s.of(bus.Gap); len(gaps) > 0 {
					t.Errorf("gaps: got %d, want none", len(gaps))
				}
			})
		})
	}
}
