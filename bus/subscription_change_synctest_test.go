// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

func TestSubscription_Add_toALiveSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tagRange(t, 1, 9)})
		s := b.subscriber(bus.SubscriberConfig{})
		c, special := newCollector(), newCollector()
		sub := subscribe(t, s, tags.Of(1), c.handle)
		must(t, p.Publish(1, nil))
		must(t, p.Publish(2, nil)) // no subscription has it yet
		must(t, sub.Add(tags.Of(1, 2, 3)))
		if !sub.Tags().Equal(tags.Of(1, 2, 3)) {
			t.Errorf("tags: got %v, want 1-3", sub.Tags())
		}
		must(t, sub.Handle(3, special.handle))
		must(t, sub.Wait(t.Context()))
		for range 2 {
			for tag := range tags.Tag(3) {
				must(t, p.Publish(tag+1, nil))
			}
		}
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if c.last[1] != 3 || c.last[2] != 3 || len(c.data[1]) != 3 || len(c.data[2]) != 2 || len(c.bad) > 0 {
			t.Errorf("handler: got %v of %v, %v; want 3 of tag 1, counters 2 and 3 of tag 2", c.last, c.data, c.bad)
		}
		if special.last[3] != 2 || c.last[3] != 0 {
			t.Errorf("handler of tag 3: got up to %d, the other one %d; want 2 and none", special.last[3], c.last[3])
		}
		if st := s.Stats(); st.Lost != 0 || st.Unwanted != 0 {
			t.Errorf("got %+v, want nothing lost or unwanted", st)
		}
	})
}

func TestSubscription_Remove_fromALiveSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tagRange(t, 1, 9)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub := subscribe(t, s, tags.Of(1, 2, 3), c.handle)
		must(t, sub.Handle(2, func(bus.Message) { t.Error("the handler of a removed tag was called") }))
		must(t, sub.Remove(tags.Of(2, 8)))
		must(t, sub.Wait(t.Context()))
		for tag := range tags.Tag(3) {
			must(t, p.Publish(tag+1, nil))
		}
		pass(time.Second)
		if st := s.Stats(); st.Messages != 2 || st.Unwanted != 0 {
			t.Errorf("after the acknowledgement: got %+v, want 2 messages and none unwanted", st)
		}
		must(t, sub.Add(tags.Of(2))) // from here on, and with the handler of all
		must(t, sub.Wait(t.Context()))
		must(t, p.Publish(2, nil))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if c.last[2] != 2 || len(c.data[2]) != 1 || len(s.of(bus.Gap)) > 0 {
			t.Errorf("tag 2: got %v, gaps %v; want its message 2 only and no gap", c.last, s.of(bus.Gap))
		}
	})
}

// Messages published while a tag is removed count as lost for no subscription,
// whatever happens to the connection meanwhile.
func TestSubscription_Remove_aTagThatIsAwayOwesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub := subscribe(t, s, tags.Of(1, 2), c.handle)
		b.net.Refuse(p.Addr())
		b.net.Reset(anyPort(p.host), anyPort(s.host))
		synctest.Wait()
		must(t, sub.Remove(tags.Of(2)))
		synctest.Wait()
		must(t, p.Publish(1, nil))
		must(t, p.Publish(2, nil))
		must(t, sub.Add(tags.Of(2)))
		b.net.Admit(p.Addr())
		must(t, sub.Wait(t.Context()))
		must(t, p.Publish(2, nil))
		pass(time.Second)
		if got := gaps(s.member); got[1] != 1 || got[2] != 0 {
			t.Errorf("gaps: got %v, want 1 of tag 1; events %v", got, s.events)
		}
		if c.last[2] != 2 || len(s.of(bus.Resubscribed)) != 1 {
			t.Errorf("got %v, %v; want message 2 of tag 2, and one resubscribed", c.last, s.events)
		}
	})
}

func TestSubscription_Remove_aHandlerMayRemoveItsTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
		s := b.subscriber(bus.SubscriberConfig{})
		var sub *bus.Subscription
		got := make(map[tags.Tag]int)
		sub = subscribe(t, s, tags.Of(1, 2), func(m bus.Message) {
			if got[m.Tag]++; got[1] == 2 && m.Tag == 1 {
				if err := sub.Remove(tags.Of(1)); err != nil {
					t.Error(err)
				}
			}
		})
		for range 5 { // all in one page
			must(t, p.Publish(1, nil))
			must(t, p.Publish(2, nil))
		}
		pass(time.Second)
		if got[1] != 2 || got[2] != 5 {
			t.Errorf("got %v, want 2 of tag 1, which was then removed, and 5 of tag 2", got)
		}
	})
}

func TestSubscription_thatChangesMovesToAnotherPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		one := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		two := b.publisher(bus.PublisherConfig{Tags: tags.Of(2)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub := subscribe(t, s, tags.Of(1), c.handle)
		pass(time.Second) // until two is found in the directory, too: Wait does not wait for what is found later
		for range 3 {
			must(t, sub.Add(tags.Of(2)))
			must(t, sub.Remove(tags.Of(1)))
			must(t, sub.Wait(t.Context()))
			must(t, two.Publish(2, nil))
			pass(time.Second)
			if got := len(one.Stats().Subscribers); got != 0 {
				t.Errorf("publisher of tag 1: got %d connections, want none", got)
			}
			must(t, sub.Add(tags.Of(1)))
			must(t, sub.Remove(tags.Of(2)))
			must(t, sub.Wait(t.Context()))
			must(t, one.Publish(1, nil))
			pass(time.Second)
		}
		if c.last[1] != 3 || c.last[2] != 3 || c.count() != 6 {
			t.Errorf("got %v, %d messages; want 3 of each", c.last, c.count())
		}
		for _, kind := range []bus.EventKind{bus.Gap, bus.Problem, bus.Vanished} {
			if got := s.of(kind); len(got) > 0 {
				t.Errorf("got %v", got)
			}
		}
	})
}

func TestSubscription_changesThatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Everything()})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub := subscribe(t, s, tags.Of(1), c.handle)
		many := sparseSet(subscription.MaxParts)
		if err := sub.Add(many.Union(tags.Of(3))); !errors.Is(err, subscription.ErrTooManyTags) {
			t.Errorf("too many tags: got %v, want ErrTooManyTags", err)
		}
		if err := sub.Remove(tags.Everything()); !errors.Is(err, bus.ErrEmptySet) {
			t.Errorf("no tag left: got %v, want ErrEmptySet", err)
		}
		if !sub.Tags().Equal(tags.Of(1)) {
			t.Errorf("the refused changes left %d parts, want tag 1", sub.Tags().Parts())
		}
		// Two that are allowed each by itself, but not together.
		other := subscribe(t, s, sparseSet(subscription.MaxParts/2), func(bus.Message) {})
		must(t, sub.Add(sparseSet(subscription.MaxParts/2+1)))
		if err := sub.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "limit 131072") {
			t.Errorf("refused by the publisher: got %v, want its reason", err)
		}
		must(t, p.Publish(1, nil))
		pass(time.Second)
		if c.last[1] != 1 {
			t.Error("the tag that it had before the refused change is not delivered any more")
		}
		must(t, other.Unsubscribe(t.Context()))
		must(t, sub.Add(tags.Of(3))) // now there is room for all
		must(t, sub.Wait(t.Context()))
		must(t, sub.Close())
		for name, change := range map[string]func(tags.Set) error{"add": sub.Add, "remove": sub.Remove} {
			if err := change(tags.Of(1)); !errors.Is(err, bus.ErrClosed) {
				t.Errorf("%s after Close: got %v, want ErrClosed", name, err)
			}
		}
	})
}

func TestPublisher_aGroupOfSubscriptionsThatBreaksTheProtocol(t *testing.T) {
	set, err := tags.Of(1).MarshalBinary()
	must(t, err)
	tests := []struct {
		name string
		then subscription.Message
		want string
	}{
		{"an unsubscribe within", &subscription.Unsubscribe{ID: 1}, "within a group"},
		{"one with another policy on the same lane", &subscription.Subscribe{ID: 2, Set: set, Policy: "latest"}, "has the policy"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
				s := &stranger{answer: [][]byte{
					hello(t, subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 30}),
					control(t, &subscription.Subscribe{ID: 1, Set: set, WithNext: true}),
					control(t, test.then),
				}}
				backend, _ := b.stranger(s)
				must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
				pass(time.Second)
				synctest.Wait()
				wantEvent(t, p.member, test.want)
				if s.closed != 1 {
					t.Errorf("closed %d times, want once", s.closed)
				}
			})
		})
	}
}

// Messages of a tag that were published before its removal precede the acknowledgement,
// although their page is not full.
func TestSubscription_Remove_endsBeforeItsAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3), Sending: bus.Sending{FlushInterval: time.Hour}})
		s := b.subscriber(bus.SubscriberConfig{})
		sub := subscribe(t, s, tags.Of(1, 2), func(bus.Message) {})
		must(t, p.Publish(2, nil)) // the first one: behind the acknowledgement it would be a stranger's
		must(t, p.Publish(3, nil))
		must(t, sub.Remove(tags.Of(2)))
		must(t, sub.Add(tags.Of(3))) // with a position, in the same acknowledgement
		must(t, sub.Wait(t.Context()))
		pass(time.Second)
		if st := s.Stats(); st.Unwanted != 1 || len(s.of(bus.Problem)) > 0 {
			t.Errorf("got %+v, problems %v; want one message that no subscription wants any more", st, s.of(bus.Problem))
		}
	})
}

// A tag that is removed before its addition is acknowledged stays away, and
// owes nothing when it is added again.
func TestSubscription_Remove_beforeTheTagIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub := subscribe(t, s, tags.Of(1), c.handle)
		b.net.SetDelay(anyPort(s.host), anybody, time.Second)
		must(t, sub.Add(tags.Of(2)))
		pass(time.Millisecond) // it is asked for
		must(t, sub.Remove(tags.Of(2)))
		pass(1500 * time.Millisecond) // it is acknowledged, and its removal on its way
		must(t, p.Publish(2, nil))
		must(t, sub.Wait(t.Context()))
		if st := s.Stats(); c.count() != 0 || st.Unwanted != 1 {
			t.Errorf("got %v and %+v, want nothing delivered and one unwanted message", c.data, st)
		}
		must(t, p.Publish(2, nil))
		must(t, sub.Add(tags.Of(2)))
		must(t, sub.Wait(t.Context()))
		must(t, p.Publish(2, nil))
		pass(time.Second)
		if c.last[2] != 3 || c.count() != 1 || len(s.of(bus.Gap)) > 0 {
			t.Errorf("got %v, gaps %v; want message 3 only, and no gap", c.last, s.of(bus.Gap))
		}
	})
}
