package bus_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// join subscribes with a configuration and waits until what is old has come.
func join(tb testing.TB, s *subscriber, set tags.Set, cfg bus.SubscriptionConfig) (*bus.Subscription, *replayed) {
	tb.Helper()
	c := newReplayed()
	sub, err := s.SubscribeWith(set, c.handle, cfg)
	must(tb, err)
	must(tb, sub.Wait(tb.Context()))
	synctest.Wait()
	return sub, c
}

func TestOldMessagesComeForTagsThatAreNewInTheirLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), CacheMessages: 10})
		s := b.subscriber(bus.SubscriberConfig{})
		for n := range uint64(5) {
			must(t, p.Publish(1, []byte(sized(1, n+1, 20))))
			must(t, p.Publish(2, []byte(sized(2, n+1, 20))))
		}
		got := func(c *replayed, want map[tags.Tag][]uint64) {
			t.Helper()
			if d := cmp.Diff(want, c.counters()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			c.check(t, 20)
		}
		first, c := join(t, s, tags.Of(1), bus.SubscriptionConfig{Replay: 3})
		got(c, map[tags.Tag][]uint64{1: {3, 4, 5}})

		second, c := join(t, s, tags.Of(1, 2), bus.SubscriptionConfig{Replay: 2}) // another Replay is no other lane
		got(c, map[tags.Tag][]uint64{2: {4, 5}})

		_, c = join(t, s, tags.Of(1), bus.SubscriptionConfig{Replay: 2, BacklogBytes: 1 << 20}) // another backlog is
		got(c, map[tags.Tag][]uint64{1: {4, 5}})

		must(t, first.Unsubscribe(t.Context()))
		must(t, second.Unsubscribe(t.Context()))
		_, c = join(t, s, tags.Of(1), bus.SubscriptionConfig{Replay: 100}) // from the first message on, again
		got(c, map[tags.Tag][]uint64{1: {1, 2, 3, 4, 5}})
		if gaps := s.of(bus.Gap); len(gaps) > 0 {
			t.Errorf("gaps: got %v, want none", gaps)
		}
	})
}

func TestOldMessagesLeaveHalfOfTheRoom(t *testing.T) {
	for _, policy := range []bus.Policy{{}, {Kind: bus.DropNewest}, {Kind: bus.DropOldest}} {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{
					Tags: tags.Of(1), PageBytes: 512, QueueBytes: 16 * 512, MaxMessageBytes: 400, CacheMessages: 100,
				})
				for n := range uint64(60) {
					must(t, p.Publish(1, []byte(sized(1, n+1, 400))))
				}
				s, c := b.subscriber(bus.SubscriberConfig{}), newReplayed()
				port := netip.AddrPortFrom(s.host, 0)
				b.net.SetWindow(netip.AddrPort{}, port, 1024)
				sub, err := s.SubscribeWith(tags.Of(1), c.handle, bus.SubscriptionConfig{Replay: 100, Policy: policy})
				must(t, err)
				must(t, sub.Wait(t.Context()))
				b.net.Stall(netip.AddrPort{}, port)
				for n := uint64(60); n < 68; n++ { // each a page, and nothing is taken away
					must(t, p.Publish(1, []byte(sized(1, n+1, 400))))
				}
				if st := p.Stats(); st.Replayed != 8 {
					t.Errorf("replayed: got %d, want 8", st.Replayed)
				}
				b.net.Resume(netip.AddrPort{}, port)
				must(t, p.Drain(t.Context()))
				synctest.Wait()
				if d := cmp.Diff(map[tags.Tag][]uint64{1: counters(53, 68)}, c.counters()); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

// A pool that is nearly in use is not used up by those who come late, and those
// who may lose messages leave half of it alone.
func TestOldMessagesLeaveHalfOfThePool(t *testing.T) {
	tests := []struct {
		policy      bus.Policy
		least, most int // pages free
	}{
		{bus.Policy{}, 4, 6}, // where a joiner gets as much as is sent at once
		{bus.Policy{Kind: bus.DropNewest}, 21, 23},
	}
	for _, test := range tests {
		t.Run(test.policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{
					Tags: tags.Of(1), PageBytes: 512, QueueBytes: 40 * 512, PoolBytes: 41 * 512, MaxMessageBytes: 400, CacheMessages: 100,
				})
				for n := range uint64(100) {
					must(t, p.Publish(1, []byte(sized(1, n+1, 400))))
				}
				for range 40 {
					s := b.subscriber(bus.SubscriberConfig{QueueBytes: 1}) // it takes nothing more at once
					b.net.SetWindow(netip.AddrPort{}, netip.AddrPortFrom(s.host, 0), 600)
					var h bus.Handler
					if !test.policy.Lossless() { // a full queue does not stop it
						h = func(bus.Message) { b.stall(s.host) }
					}
					_, err := s.SubscribeWith(tags.Of(1), h, bus.SubscriptionConfig{Replay: 100, Policy: test.policy})
					must(t, err)
					synctest.Wait()
				}
				if got := p.Stats().PagesFree; got < test.least || got > test.most {
					t.Errorf("%d of 41 pages free, want %d to %d", got, test.least, test.most)
				}
			})
		})
	}
}

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
func TestJoiningWhilePublishing(t *testing.T) {
	for _, streams := range []int{1, 64} {
		t.Run(fmt.Sprintf("with at most %d streams", streams), func(t *testing.T) { joinWhilePublishing(t, streams) })
	}
}

func joinWhilePublishing(t *testing.T, streams int) {
	b := newBed(t)
	all := tags.Of(0, 1, 2, 3)
	p := &joining{joined: make(chan struct{}), publisher: b.publisher(bus.PublisherConfig{
		Tags: all, PageBytes: 1024, QueueBytes: 1 << 20, MaxMessageBytes: 4000, MaxStreams: streams,
		CacheMessages: 20, CacheBytes: 1 << 14,
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
	const joiners, rounds = 4, 10
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

// A tag of which nothing had come, and one that another subscription asked for
// meanwhile, are made up for as well.
func TestASubscriptionThatJoinsDuringTheReconnectTakesNothingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), CacheMessages: 10})
		s := b.subscriber(bus.SubscriberConfig{})
		_, c := join(t, s, tags.Of(1, 2), bus.SubscriptionConfig{})
		must(t, p.Publish(1, []byte(sized(1, 1, 20))))
		time.Sleep(time.Second)
		b.net.Refuse(p.Addr())
		b.net.Reset(netip.AddrPortFrom(p.host, 0), netip.AddrPortFrom(s.host, 0))
		synctest.Wait()
		for range 10 { // so that one comes first unless that is prevented
			_, err := s.SubscribeWith(tags.Of(1, 2), func(bus.Message) {}, bus.SubscriptionConfig{Replay: 10})
			must(t, err)
		}
		for n := uint64(1); n <= 3; n++ {
			must(t, p.Publish(1, []byte(sized(1, n+1, 20))))
			must(t, p.Publish(2, []byte(sized(2, n, 20))))
		}
		b.net.Admit(p.Addr())
		time.Sleep(20 * time.Second)
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if d := cmp.Diff(map[tags.Tag][]uint64{1: {1, 2, 3, 4}, 2: {1, 2, 3}}, c.counters()); d != "" {
			t.Errorf("the first subscription (-want +got):\n%s", d)
		}
		if gaps, problems := s.of(bus.Gap), s.of(bus.Problem); len(gaps)+len(problems) > 0 {
			t.Errorf("events: got %v %v, want none", gaps, problems)
		}
	})
}

func TestCachesAreConfiguredTogether(t *testing.T) {
	tests := []struct {
		name string
		cfg  bus.PublisherConfig
		ok   bool
	}{
		{"without", bus.PublisherConfig{}, true},
		{"with the default memory", bus.PublisherConfig{CacheMessages: 1}, true},
		{"with little memory", bus.PublisherConfig{CacheMessages: 1, CacheBytes: 4096}, true},
		{"with too little", bus.PublisherConfig{CacheMessages: 1, CacheBytes: 4095}, false},
		{"with memory for nothing", bus.PublisherConfig{CacheBytes: 4096}, false},
		{"with a negative number", bus.PublisherConfig{CacheMessages: -1}, false},
		{"with too many", bus.PublisherConfig{CacheMessages: 1<<20 + 1}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.cfg.Tags = tags.Of(1)
			if err := test.cfg.Validate(); (err == nil) != test.ok || err != nil && !errors.Is(err, bus.ErrInvalidConfig) {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := (bus.SubscriptionConfig{Replay: -1}).Validate(); !errors.Is(err, bus.ErrInvalidConfig) {
		t.Errorf("a negative replay: got %v", err)
	}
}
