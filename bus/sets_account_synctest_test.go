// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// Live changes of tags, with what is counted and what is kept.

// Messages that a policy has left out of a tag still count as left out when the
// publisher stops serving the tag: they are not missing at its end.
func TestPublisher_Stats_bothEndsCountTheSameOfRemovedTags(t *testing.T) {
	for _, policy := range modelPolicies {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newAccountRun(t, policy, 1<<20)
				r.bed.net.Stall(netip.AddrPort{}, r.host())
				r.publish(200)
				must(t, r.pub.RemoveTags(tags.Of(1)))
				r.publish(20) // half of them refused
				r.bed.net.Resume(netip.AddrPort{}, r.host())
				r.check("without tag 1")
				must(t, r.pub.AddTags(tags.Of(1)))
				r.publish(50)
				r.check("with it again")
				r.publish(50)
				must(t, r.pub.RemoveTags(tags.Of(2)))
				r.bed.net.Reset(r.pub.Addr(), r.host())
				r.publish(50)
				r.check("without tag 2 after a loss")
				must(t, r.pub.Drain(t.Context()))
				r.check("after the end")
			})
		})
	}
}

// A subscription that is closed before its acknowledgement has come must not let
// the publisher count twice what the connection has cost.
func TestSubscription_Close_whatWasMissedIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newAccountRun(t, bus.Policy{Kind: bus.DropNewest}, 1<<20)
		cfg := bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropNewest}, BacklogBytes: 1024}
		first, err := r.sub.SubscribeWith(tags.Of(1), func(bus.Message) {}, cfg)
		must(t, err)
		must(t, first.Wait(t.Context()))
		r.publish(4)
		r.bed.net.Reset(r.pub.Addr(), r.host())
		r.publish(10)
		r.sub.when(bus.Connected, func() {
			must(t, first.Close())
			_, err := r.sub.SubscribeWith(tags.Of(1), func(bus.Message) {}, cfg)
			must(t, err)
		})
		pass(time.Minute)
		for _, problem := range append(audit(t, r.pub, r.sub, tags.Of(1, 2)), auditSums(r.pub, r.sub)...) {
			t.Error(problem)
		}
	})
}

// A tag that is added while there is no connection is owed nothing old, and the others
// are made up for.
func TestSubscription_Add_betweenConnectionsIsNotMadeUpFor(t *testing.T) {
	for _, test := range []struct {
		name   string
		replay int
		want   []uint64 // of the added tag
	}{
		{"without replay", 0, []uint64{7}},
		{"with replay", 2, []uint64{5, 6, 7}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3), Sending: bus.Sending{CacheMessages: 10}})
				s := b.subscriber(bus.SubscriberConfig{})
				publish := func(from, to uint64) {
					for n := from; n <= to; n++ {
						for tag := range tags.Of(1, 2, 3).All() {
							must(t, p.Publish(tag, []byte(sized(tag, n, 20))))
						}
					}
					p.Flush()
					pass(time.Millisecond)
				}
				sub, c := join(t, s, tags.Of(1, 3), bus.SubscriptionConfig{Replay: test.replay})
				publish(1, 3)
				b.net.Reset(p.Addr(), anyPort(s.host))
				synctest.Wait()
				must(t, sub.Add(tags.Of(2)))
				must(t, sub.Remove(tags.Of(3)))
				publish(4, 6)
				must(t, sub.Wait(t.Context()))
				publish(7, 7)
				pass(time.Second)
				want := map[tags.Tag][]uint64{1: counters(1, 7), 2: test.want, 3: counters(1, 3)}
				if d := cmp.Diff(want, c.counters()); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				if gaps := s.of(bus.Gap); len(gaps) > 0 {
					t.Errorf("gaps: got %v, want none", gaps)
				}
				for _, problem := range audit(t, p, s, tags.Of(1, 2)) {
					t.Error(problem)
				}
			})
		})
	}
}

// A tag that is new in a lane of a standing connection comes with its old messages, and
// no message of the other tags comes twice.
func TestSubscription_Add_comesWithOldMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{CacheMessages: 10}})
		s := b.subscriber(bus.SubscriberConfig{})
		publish := func(from, to uint64) {
			for n := from; n <= to; n++ {
				must(t, p.Publish(1, []byte(sized(1, n, 20))))
				must(t, p.Publish(2, []byte(sized(2, n, 20))))
			}
		}
		publish(1, 5)
		sub, c := join(t, s, tags.Of(1), bus.SubscriptionConfig{Replay: 3})
		must(t, sub.Add(tags.Of(2)))
		must(t, sub.Wait(t.Context()))
		publish(6, 7)
		pass(time.Second)
		if d := cmp.Diff(map[tags.Tag][]uint64{1: counters(3, 7), 2: counters(3, 7)}, c.counters()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// New subscriptions of a group must not get the messages again that a continuing one
// has.
func TestSubscription_aGroupResumesBeforeItReplays(t *testing.T) {
	for name, set := range map[string]tags.Set{"few tags": tags.Of(1), "many tags": wide(t)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{CacheMessages: 100}})
				s := b.subscriber(bus.SubscriberConfig{})
				cfg := bus.SubscriptionConfig{Replay: 100}
				publish := func(from, to uint64) {
					for n := from; n <= to; n++ {
						must(t, p.Publish(1, []byte(sized(1, n, 20))))
					}
					p.Flush()
					pass(time.Millisecond)
				}
				_, first := join(t, s, set, cfg)
				publish(1, 5)
				b.net.Reset(p.Addr(), anyPort(s.host))
				publish(6, 8)
				_, second := join(t, s, tags.Of(1, 2), cfg)
				pass(time.Minute)
				publish(9, 9)
				pass(time.Second)
				if d := cmp.Diff(map[tags.Tag][]uint64{1: counters(1, 9)}, first.counters()); d != "" {
					t.Errorf("the first (-want +got):\n%s", d)
				}
				if got := second.counters()[1]; len(got) == 0 || got[0] < 6 {
					t.Errorf("the second: got %d, want only what was published since the loss", got)
				}
				if gaps, problems := s.of(bus.Gap), s.of(bus.Problem); len(gaps)+len(problems) > 0 {
					t.Errorf("got gaps %v and problems %v, want none", gaps, problems)
				}
			})
		})
	}
}

func wide(tb testing.TB) tags.Set {
	tb.Helper()
	set, err := tags.Range(0, 99)
	must(tb, err)
	return set
}

// A removed tag has no old messages, also when it is back.
func TestPublisher_RemoveTags_removedTagsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{CacheMessages: 10}})
		for n := range uint64(4) {
			must(t, p.Publish(1, []byte(sized(1, n+1, 20))))
			must(t, p.Publish(2, []byte(sized(2, n+1, 20))))
		}
		must(t, p.RemoveTags(tags.Of(1)))
		if st := p.Stats(); st.Cached != 4 {
			t.Errorf("cached: got %d messages, want 4", st.Cached)
		}
		s := b.subscriber(bus.SubscriberConfig{})
		_, c := join(t, s, tags.Of(1, 2), bus.SubscriptionConfig{Replay: 10})
		must(t, p.AddTags(tags.Of(1)))
		must(t, p.Publish(1, []byte(sized(1, 5, 20))))
		must(t, p.Publish(1, []byte(sized(1, 6, 20))))
		_, late := join(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), bus.SubscriptionConfig{Replay: 10})
		pass(time.Second)
		if d := cmp.Diff(map[tags.Tag][]uint64{1: {5, 6}, 2: counters(1, 4)}, c.counters()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if d := cmp.Diff(map[tags.Tag][]uint64{1: {5, 6}}, late.counters()); d != "" {
			t.Errorf("the late one (-want +got):\n%s", d)
		}
		if err := p.Publish(3, nil); !errors.Is(err, bus.ErrUnknownTag) {
			t.Errorf("got %v, want ErrUnknownTag", err)
		}
	})
}
