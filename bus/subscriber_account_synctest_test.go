// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// accountStranger is a subscriber made by hand that subscribes to tag 1 in
// lane 1.
func accountStranger(t *testing.T, more ...subscription.Message) *stranger {
	t.Helper()
	set, err := tags.Of(1).MarshalBinary()
	must(t, err)
	s := &stranger{answer: [][]byte{
		hello(t, subscription.Hello{Instance: "twin", MaxMessageBytes: 1 << 30}),
		control(t, &subscription.Subscribe{ID: 1, Set: set, Lane: 1, Policy: "drop-newest"}),
	}}
	for _, m := range more {
		s.answer = append(s.answer, control(t, m))
	}
	return s
}

// A dead connection that the publisher has not noticed must not count once the
// subscriber is back: the subscriber would never hear of these counts.
func TestPublisher_anOlderConnectionOfASubscriberEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 512, MaxMessageBytes: 400, QueueBytes: 1024}})
		first, second := accountStranger(t), accountStranger(t)
		backend, host := b.stranger(first)
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		synctest.Wait()
		b.stall(host)
		for range 100 {
			must(t, p.Publish(1, make([]byte, 100)))
		}
		p.Flush()
		before := p.TagLosses("twin")
		if len(before) != 1 || before[0].Losses.Full == 0 {
			t.Fatalf("got losses %+v, want some of tag 1", before)
		}
		backend, _ = b.stranger(second)
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		synctest.Wait()
		for range 100 {
			must(t, p.Publish(1, make([]byte, 100)))
			synctest.Wait()
		}
		time.Sleep(time.Second)
		if d := cmp.Diff(before, p.TagLosses("twin")); d != "" {
			t.Errorf("losses before and after it came back (-before +after):\n%s", d)
		}
		if st := p.Stats(); len(st.Subscribers) != 1 || st.PagesFree != st.Pages {
			t.Errorf("got %d subscribers and %d of %d pages free, want 1 and all", len(st.Subscribers), st.PagesFree, st.Pages)
		}
		wantEvent(t, p.member, "the subscriber has connected again")
		totals := &subscription.Lost{
			Lane: 1, Cause: subscription.CauseFull, Total: true,
			List: subscription.AppendPosition(nil, 0, subscription.Position{Tag: 1, Count: before[0].Losses.Full}),
		}
		second.mu.Lock()
		defer second.mu.Unlock()
		if got := second.got[1]; string(got) != string(control(t, totals)) {
			t.Errorf("the second connection hears first %x, want the totals %x", got, control(t, totals))
		}
	})
}

func TestPublisher_checksWhatASubscriberHasMissed(t *testing.T) {
	const list = "\x01\x07\x01\x05" // 7 of tag 1, 5 of tag 2, of which none were published
	tests := []struct {
		name string
		send subscription.Message
		want []bus.TagLosses
		end  string // in an event
	}{
		{
			"of a tag that was never published, as an attempt to take memory",
			&subscription.Missed{Lane: 1, Cause: subscription.CauseConnection, List: []byte(list)},
			[]bus.TagLosses{{Policy: bus.Policy{Kind: bus.DropNewest}, Tag: 1, Losses: bus.Losses{Connection: 7}}},
			"missed 5 messages of tag 0x0000000000000002",
		},
		{"in a lane that there is not", &subscription.Missed{Lane: 2, Cause: subscription.CauseConnection, List: []byte(list)}, nil, "which has no subscription"},
		{"a damaged list", &subscription.Missed{Lane: 1, Cause: subscription.CauseFull, List: []byte{0x80}}, nil, "damaged list"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
				for range 7 {
					must(t, p.Publish(1, nil))
				}
				backend, _ := b.stranger(accountStranger(t, test.send))
				must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
				time.Sleep(time.Second)
				if d := cmp.Diff(test.want, p.TagLosses("twin")); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				wantEvent(t, p.member, test.end)
			})
		})
	}
}

// What many subscribers leave behind is forgotten, the oldest first, and stays
// in the sums.
func TestPublisher_forgetsSubscribersThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		const remembered, all = 256, 260
		// This one is not there meanwhile, and brings its counts back.
		back := b.subscriber(bus.SubscriberConfig{})
		_, err := back.SubscribeWith(tags.Of(1), func(bus.Message) {}, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Sample, Every: 2}})
		must(t, err)
		time.Sleep(time.Second)
		must(t, p.Publish(1, nil))
		must(t, p.Publish(1, nil))
		time.Sleep(time.Second)
		b.net.Reset(anybody, anyPort(back.host))
		synctest.Wait()
		b.net.Partition(anybody, anyPort(back.host))
		var first string
		for i := range all {
			s := b.subscriber(bus.SubscriberConfig{})
			sub, err := s.SubscribeWith(tags.Of(1), func(bus.Message) {}, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Sample, Every: 2}})
			must(t, err)
			must(t, sub.Wait(t.Context()))
			must(t, p.Publish(1, nil))
			must(t, p.Publish(1, nil))
			time.Sleep(time.Second)
			must(t, s.Close())
			synctest.Wait()
			if i == 0 {
				first = s.Instance()
			}
		}
		st := p.Stats()
		if len(st.Gone) != remembered || st.Losses.LeftOut != all+1 {
			t.Errorf("got %d remembered and %d left out, want %d and %d", len(st.Gone), st.Losses.LeftOut, remembered, all+1)
		}
		if got := p.TagLosses(back.Instance()); got != nil {
			t.Errorf("got losses %v of one that is away, want it forgotten", got)
		}
		b.net.Heal(anybody, anyPort(back.host))
		time.Sleep(time.Minute)
		for _, problem := range append(audit(t, p, back, tags.Of(1)), auditSums(p, back)...) {
			t.Errorf("when it is back: %s", problem)
		}
		if got, want := p.TagLosses(back.Instance()), (bus.Losses{LeftOut: 1, Connection: 2 * all}); len(got) != 1 || got[0].Losses != want {
			t.Errorf("when it is back: got losses %+v, want %+v", got, want)
		}
		if got := p.TagLosses(first); got != nil {
			t.Errorf("got losses %v of the first that left, want it forgotten", got)
		}
	})
}

func TestPublisher_allowsThePoliciesItNames(t *testing.T) {
	tests := []struct {
		policy string
		want   string // in the error
	}{
		{"block", ""},
		{"sample:7", ""},
		{"drop-newest", "does not allow this policy: drop-newest; it allows [block sample]"},
		{"disconnect:5s", "does not allow this policy: disconnect"},
	}
	for _, test := range tests {
		t.Run(test.policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{Policies: []bus.PolicyKind{bus.Block, bus.Sample}}})
				policy, err := bus.ParsePolicy(test.policy)
				must(t, err)
				s := b.subscriber(bus.SubscriberConfig{})
				sub, err := s.SubscribeWith(tags.Of(1), func(bus.Message) {}, bus.SubscriptionConfig{Policy: policy})
				must(t, err)
				err = sub.Wait(t.Context())
				if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("got error %v, want one with %q", err, test.want)
				}
				if st := p.Stats(); test.want == "" && (len(st.Subscribers) != 1 || st.Subscribers[0].Lanes[0].Policy != policy) {
					t.Errorf("got subscribers %+v, want one with %v", st.Subscribers, policy)
				}
			})
		})
	}
}
