// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// mostPosts is how many functions may wait on a loop, whatever happens: a backend, a
// publisher and a subscriber post a few each.
const mostPosts = 16

// eventsPerTurn is how many events are delivered at most before other posted functions
// run.
const eventsPerTurn = 256

// TestSubscriber_gapsOfManyTagsAreMerged: gaps were posted one by one. With many tags they piled
// up without limit, and whatever else was posted waited behind them.
func TestSubscriber_gapsOfManyTagsAreMerged(t *testing.T) {
	tests := []struct {
		policy string
		tags   uint64
		rounds int
	}{
		{"drop-newest", 20_000, testkit.Fewer(20)}, // fewer tags may all find room
		{"latest", uint64(testkit.Fewer(manyTags)), 3},
	}
	for _, test := range tests {
		t.Run(test.policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				set := tagRange(t, 1, tags.Tag(test.tags))
				p := b.publisher(bus.PublisherConfig{Tags: set, Sending: bus.Sending{PageBytes: 32 << 10, QueueBytes: 128 << 10, PoolBytes: 1 << 20, MaxMessageBytes: 1000}})
				var posts postCount
				var told, lost, received uint64
				m := b.member()
				behind := make(chan uint64, 1)
				s, err := bus.NewSubscriber(posts.counted(b.opener(m)), b.dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
					if e.Kind != bus.Gap {
						return
					}
					if told++; told == 1 {
						m.loop.Post(func() { behind <- told })
					}
					lost += e.Count
				}}})
				must(t, err)
				policy, err := bus.ParsePolicy(test.policy)
				must(t, err)
				sub, err := s.SubscribeWith(set, func(bus.Message) { received++ }, bus.SubscriptionConfig{Policy: policy})
				must(t, err)
				must(t, sub.Wait(t.Context()))
				for range test.rounds {
					m.loop.Freeze()
					for tag := range set.All() {
						must(t, p.Publish(tag, nil))
					}
					m.loop.Thaw()
				}
				must(t, p.Drain(t.Context()))
				time.Sleep(2 * time.Second) // what is left out is told once a second
				synctest.Wait()
				if most := posts.most.Load(); most > mostPosts {
					t.Errorf("up to %d functions were posted at once, want at most %d", most, mostPosts)
				}
				if n := <-behind; n > 2*eventsPerTurn {
					t.Errorf("a posted function waited for %d events, want at most %d", n, 2*eventsPerTurn)
				}
				st := s.Stats()
				if all := test.tags * uint64(test.rounds); received+lost != all || lost != st.Lost+st.LeftOut || lost == 0 {
					t.Errorf("received %d and got events of %d lost, of %d; counted %d lost, %d left out: want each message once", received, lost, all, st.Lost, st.LeftOut)
				}
				if told > lost/2 && test.policy == "drop-newest" {
					t.Errorf("%d events for %d lost messages: they were not merged", told, lost)
				}
				must(t, s.Close())
				m.loop.Close()
			})
		})
	}
}

// TestSubscriber_aHostilePublishersLosses: 42 MB of Lost lists became 2.7 GB of events.
func TestSubscriber_aHostilePublishersLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const known, lists = 1000, 1000
		b := newBed(t)
		x := &flood{stranger: stranger{answer: xHello(t, "", 0)}}
		x.next = repeat(lists, control(t, &subscription.Lost{Cause: subscription.CauseFull, List: positionsOf(known, 3)}))
		b.publisherByHand(x, tagRange(t, 1, known))
		var posts postCount
		var told, lost uint64
		m := b.member()
		s, err := bus.NewSubscriber(posts.counted(b.opener(m)), b.dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
			if e.Kind == bus.Gap {
				told, lost = told+1, lost+e.Count
			}
		}}})
		must(t, err)
		_, err = s.Subscribe(tagRange(t, 1, known), ignore)
		must(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		if most := posts.most.Load(); most > mostPosts {
			t.Errorf("up to %d functions were posted at once, want at most %d", most, mostPosts)
		}
		if lost != 3*known*lists || s.Stats().Lost != lost {
			t.Errorf("got events of %d lost messages and counted %d, want %d", lost, s.Stats().Lost, 3*known*lists)
		}
		if told > known*lists/2 {
			t.Errorf("%d events for %d lists of %d tags: they were not merged", told, lists, known)
		}
		must(t, s.Close())
		m.loop.Close()
	})
}

// slowly is an OnEvent that takes its time. It notes how far the messages of a peer are
// ahead of the events that they cause: at most the limit of waiting events, and what one
// turn of the network brings.
type slowly struct {
	kinds  map[bus.EventKind]int
	read   atomic.Int64 // messages from the peer
	ending atomic.Bool  // Close waits for callbacks, and then no time passes

	mu    sync.Mutex // guards what follows: the test looks while events are delivered
	told  int64
	ahead int64
	lost  []error
}

const mostAhead = 64 + 64 + 16

func (s *slowly) follow(b *bed, m *member) {
	b.net.Observe(func(e memnet.Event) {
		if e.Kind == memnet.Delivered && e.Local.Addr() == m.host {
			s.read.Add(1)
		}
	})
}

func (s *slowly) event(e bus.Event) {
	if !s.ending.Load() {
		time.Sleep(2 * time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told++
	s.kinds[e.Kind]++
	if n := s.read.Load() - s.told; n > s.ahead {
		s.ahead = n
	}
	if e.Kind == bus.Lost {
		s.lost = append(s.lost, e.Err)
	}
}

// TestSubscriber_aHostilePublishersRefusals: a publisher that causes events faster than they are
// delivered is slowed down by its own socket.
func TestSubscriber_aHostilePublishersRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3000
		b := newBed(t)
		x := &flood{stranger: stranger{answer: xHello(t, "", 0)}}
		x.next = repeat(n, control(t, &subscription.Refused{ID: 99, Reason: "no"}), control(t, &subscription.Refused{ID: 99, Reason: "no again"}))
		b.publisherByHand(x, tags.Of(1))
		slow := &slowly{kinds: make(map[bus.EventKind]int)}
		m := b.member()
		slow.follow(b, m)
		s, err := bus.NewSubscriber(b.opener(m), b.dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: slow.event}})
		must(t, err)
		_, err = s.Subscribe(tags.Of(1), ignore)
		must(t, err)
		time.Sleep(n * 4 * time.Millisecond)
		synctest.Wait()
		slow.mu.Lock()
		if slow.kinds[bus.Refused] != n || slow.ahead > mostAhead {
			t.Errorf("got events of %d refusals of %d, up to %d messages behind, want at most %d", slow.kinds[bus.Refused], n, slow.ahead, mostAhead)
		}
		slow.mu.Unlock()
		slow.ending.Store(true)
		must(t, s.Close())
		m.loop.Close()
	})
}

// TestPublisher_aHostileSubscribersLoop: 37 MB of Subscribe and Unsubscribe became 425 MB of
// events and answers, and other posted functions waited for 22 s.
func TestPublisher_aHostileSubscribersLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 5000
		b := newBed(t)
		set, err := tags.Of(1).MarshalBinary()
		must(t, err)
		x := &flood{stranger: stranger{answer: xHello(t, "", 0)}}
		x.next = repeat(n, control(t, &subscription.Subscribe{ID: 1, Set: set}), control(t, &subscription.Unsubscribe{ID: 1}))
		slow := &slowly{kinds: make(map[bus.EventKind]int)}
		var posts postCount
		m := b.member()
		slow.follow(b, m)
		p, err := bus.NewPublisher(posts.counted(b.opener(m)), b.dir, bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: anyPort(m.host)}, Common: bus.Common{OnEvent: slow.event}})
		must(t, err)
		backend, _ := b.stranger(x)
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		time.Sleep(n * 4 * time.Millisecond)
		synctest.Wait()
		slow.mu.Lock()
		if slow.kinds[bus.Subscribed] != n/2 || slow.kinds[bus.Unsubscribed] != n/2 || slow.ahead > mostAhead {
			t.Errorf("got events %v, up to %d messages behind, want %d of each and at most %d", slow.kinds, slow.ahead, n/2, mostAhead)
		}
		slow.mu.Unlock()
		if most := posts.most.Load(); most > mostPosts {
			t.Errorf("up to %d functions were posted at once, want at most %d", most, mostPosts)
		}
		slow.ending.Store(true)
		must(t, p.Close())
		m.loop.Close()
	})
}

// TestPublisher_aPausedLinkIsNotSilent: while the events of a group of subscriptions are
// delivered, which takes longer than the HeartbeatTimeout, the subscriber cannot be
// heard.
func TestPublisher_aPausedLinkIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20_000 // more events than may wait one by one
		b := newBed(t)
		slow := &slowly{kinds: make(map[bus.EventKind]int)}
		p, _ := b.openPublisher(b.dir, bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{OnEvent: slow.event}})
		set, err := tags.Of(1).MarshalBinary()
		must(t, err)
		x := &flood{stranger: stranger{answer: xHello(t, "", 1000)}}
		i := uint64(0)
		x.next = func() []byte {
			if i++; i > n {
				return nil
			}
			return control(t, &subscription.Subscribe{ID: i, Set: set, WithNext: i < n})
		}
		backend, _ := b.stranger(x)
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		time.Sleep(n * 2 * time.Millisecond)
		synctest.Wait()
		slow.mu.Lock()
		if slow.kinds[bus.Subscribed] < n-100 || slow.kinds[bus.Problem] > 0 || p.Stats().Silent > 0 {
			t.Errorf("got events %v and %d silent subscribers, want %d subscriptions and none", slow.kinds, p.Stats().Silent, n)
		}
		slow.mu.Unlock()
		time.Sleep(30 * time.Second) // it says nothing, and now it is heard again
		synctest.Wait()
		slow.mu.Lock()
		defer slow.mu.Unlock()
		if len(slow.lost) != 1 || !errors.Is(slow.lost[0], bus.ErrSilent) {
			t.Errorf("got ends %v after the pause, want one because nothing was heard", slow.lost)
		}
		slow.ending.Store(true)
	})
}

// TestSubscriber_droppedEventsAreCounted: more subscriptions than events may wait end while OnEvent
// takes its time.
func TestSubscriber_droppedEventsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const subscriptions = 18_000 // more than events may wait
		b := newBed(t)
		var ended, dropped int
		m := b.member()
		s, err := bus.NewSubscriber(b.opener(m), b.dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
			time.Sleep(2 * time.Millisecond)
			var d *bus.EventsDroppedError
			switch {
			case errors.Is(e.Err, bus.ErrNoPublisher):
				ended++
			case errors.Is(e.Err, bus.ErrEventsDropped) && errors.As(e.Err, &d):
				dropped += int(d.Events)
			default:
				t.Errorf("got %v", e)
			}
		}}})
		must(t, err)
		for range subscriptions {
			_, err := s.SubscribeWith(tags.Of(1), ignore, bus.SubscriptionConfig{Timeout: time.Second})
			must(t, err)
		}
		time.Sleep(time.Second + subscriptions*2*time.Millisecond)
		synctest.Wait()
		if dropped == 0 || ended+dropped != subscriptions {
			t.Errorf("told %d ends, and that %d are dropped, want %d in all and some dropped", ended, dropped, subscriptions)
		}
		must(t, s.Close())
		m.loop.Close()
	})
}
