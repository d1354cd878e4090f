// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// teller is what is asked for what its peers have lost.
type teller interface {
	State(ctx context.Context, q state.Question) (state.State, error)
}

// lossesFor returns what a publisher or sender knows of losses for a cause: of all its peers,
// of the only one, connected or gone, and of the tags of that.
func lossesFor(t *testing.T, p teller, cause state.Cause) (all, peer uint64, byTag map[tags.Tag]uint64) {
	t.Helper()
	st, err := p.State(t.Context(), state.Question{Peers: 4, LostTags: 4})
	must(t, err)
	of := func(losses []state.Loss) (n uint64) {
		for _, l := range losses {
			if l.Cause == cause {
				n += l.Messages
			}
		}
		return n
	}
	byTag = make(map[tags.Tag]uint64)
	for _, q := range slices.Concat(st.Peers, st.Gone) {
		peer += of(q.Losses)
		for _, lost := range q.LostTags {
			byTag[lost.Tag] += of(lost.Losses)
		}
	}
	return of(st.Losses), peer, byTag
}

// overflowing is a publisher, and a subscriber that takes none of its messages and may lose them.
type overflowing struct {
	t     *testing.T
	bed   *bed
	pub   *publisher
	sub   *subscriber
	queue *bus.Subscription
}

func newOverflowing(t *testing.T, policy string) *overflowing {
	t.Helper()
	o := &overflowing{t: t, bed: newBed(t)}
	o.pub = o.bed.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
	o.sub = o.bed.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: 640}})
	parsed, err := bus.ParsePolicy(policy)
	must(t, err)
	o.queue, err = o.sub.SubscribeWith(tags.Of(1, 2), nil, bus.SubscriptionConfig{Policy: parsed})
	must(t, err)
	must(t, o.queue.Wait(t.Context()))
	return o
}

func (o *overflowing) publish(n int) {
	o.t.Helper()
	for i := range n {
		must(o.t, o.pub.Publish(tags.Tag(1+i%2), nil))
	}
	o.pub.Flush()
	synctest.Wait()
}

// agree checks that the publisher knows all that the queue has lost, or nothing.
func (o *overflowing) agree(want uint64) {
	o.t.Helper()
	all, peer, byTag := lossesFor(o.t, o.pub, state.Overflow)
	if all != want || peer != want || byTag[1]+byTag[2] != want {
		o.t.Errorf("the publisher knows of %d messages, %d of the peer, %v by tag; want %d", all, peer, byTag, want)
	}
	sum := o.pub.Stats().Dropped.Overflowed
	var tagged uint64
	for _, l := range o.pub.TagLosses(o.sub.Instance()) {
		tagged += l.Dropped.Overflowed
	}
	if sum != want || tagged != want {
		o.t.Errorf("the publisher counts %d, %d by tag; want %d", sum, tagged, want)
	}
}

// TestPublisher_hearsWhatTheQueueOfASubscriberLoses: a subscriber lost 1.27 million messages in
// its own queue, and every tool said that all was well.
func TestPublisher_hearsWhatTheQueueOfASubscriberLoses(t *testing.T) {
	for _, policy := range []string{"drop-oldest", "drop-newest", "sample:1"} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOverflowing(t, policy)
				begun := time.Now()
				for range 5 {
					o.publish(100)
					time.Sleep(300 * time.Millisecond)
				}
				time.Sleep(2 * time.Second)
				lost := o.queue.Overflowed()
				if lost != 490 { // of 500, the queue holds 10 of 64 bytes
					t.Fatalf("the queue has lost %d messages, want 490", lost)
				}
				o.agree(lost)
				st, err := o.pub.State(t.Context(), state.Question{})
				must(t, err)
				if l := st.Losses[0]; l.First.Before(begun) || l.First.After(begun.Add(3*time.Second)) || l.Last.Before(l.First) {
					t.Errorf("got %+v, want times of the first seconds after %v", l, begun)
				}
				o.publish(100)
				must(t, o.sub.Close()) // with its goodbye it tells the rest
				synctest.Wait()
				o.agree(o.queue.Overflowed())
			})
		})
	}
	t.Run("after the loss of a connection", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOverflowing(t, "drop-oldest")
			o.publish(100)
			time.Sleep(2 * time.Second)
			o.publish(100) // not told yet
			o.bed.net.Reset(o.pub.Addr(), anyPort(o.sub.host))
			time.Sleep(10 * time.Second)
			o.agree(190)
			o.publish(100)
			time.Sleep(10 * time.Second)
			o.agree(290)
			for _, problem := range audit(t, o.pub, o.sub, tags.Of(1, 2)) {
				t.Error(problem)
			}
		})
	})
	t.Run("with a goodbye behind what waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOverflowing(t, "drop-oldest")
			net, there := o.bed.net, anyPort(o.sub.host)
			net.SetWindow(there, o.pub.Addr(), 1) // so that the goodbye is sent when all else is read
			net.Stall(there, o.pub.Addr())
			for range 300 { // more than the transport takes
				_, err := o.sub.Subscribe(tags.Of(1), func(bus.Message) {})
				must(t, err)
			}
			o.publish(100)
			closed := make(chan error, 1)
			go func() { closed <- o.sub.Close() }()
			time.Sleep(100 * time.Millisecond)
			net.Resume(there, o.pub.Addr())
			must(t, <-closed)
			synctest.Wait()
			o.agree(90)
			if lost := o.pub.of(bus.Lost); len(lost) != 1 || lost[0].Err != nil {
				t.Errorf("got %v, want a goodbye", lost)
			}
		})
	})
	t.Run("what latest supersedes is left out on purpose", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOverflowing(t, "latest")
			for range 100 {
				o.publish(1)
			}
			time.Sleep(10 * time.Second)
			o.agree(0)
			st, err := o.sub.State(t.Context(), state.Question{Peers: 1, Tags: tags.Of(1, 2)})
			must(t, err)
			var byTag uint64
			for _, tag := range st.Asked {
				if byTag += tag.LeftOut; len(tag.Losses) > 0 {
					t.Errorf("tag %v has lost %v, want none", tag.Tag, tag.Losses)
				}
			}
			if lost := o.queue.Overflowed(); lost == 0 || byTag != lost || len(st.Losses)+len(st.Peers[0].Losses) > 0 || st.LeftOut != lost || st.Peers[0].LeftOut != lost ||
				st.Receiving.Overflowed != lost || o.sub.Stats().Overflowed != lost {
				t.Errorf("the queue has left out %d, and the state is %+v", lost, st)
			}
		})
	})
}

// TestSender_hearsOfPanics: the other direction, and the other cause.
func TestSender_hearsOfPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(m bus.Message) {
			if m.Counter%2 == 0 {
				panic("even")
			}
		})
		s := b.sender(bus.SenderConfig{})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1)))
		for range 10 {
			must(t, s.Send(1, nil))
		}
		time.Sleep(3 * time.Second)
		all, peer, byTag := lossesFor(t, s, state.Panic)
		if all != 5 || peer != 5 || byTag[1] != 5 || s.Stats().Dropped.Panicked != 5 || r.Stats().Panics != 5 {
			t.Errorf("of 5 panics the sender knows %d, %d of the peer, %v by tag, and counts %+v", all, peer, byTag, s.Stats().Dropped)
		}
	})
}

// A batch may be handled in part. All of it counts.
func TestPublisher_hearsOfPanicsOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		sub, err := s.SubscribeBatch(tags.Of(1), func([]bus.Message) { panic("batch") }, bus.SubscriptionConfig{})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		_, err = p.PublishBatch([]bus.Message{{Tag: 1}, {Tag: 1}, {Tag: 1}})
		must(t, err)
		p.Flush()
		time.Sleep(3 * time.Second)
		if all, peer, _ := lossesFor(t, p, state.Panic); all != 3 || peer != 3 {
			t.Errorf("of 3 messages of a batch the publisher knows %d, %d of the peer", all, peer)
		}
	})
}

// A publisher of an older release ends a connection for a message that it does not know.
func TestSubscriber_doesNotTellAnOlderPublisherWhatItLoses(t *testing.T) {
	for name, takes := range map[string]int{"of an older release": subscription.MaxControlBytes, "of this one": subscription.TakesDropped} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				page := []byte{1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0, 0, 0, 0, 0, 0}
				x := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "x", MaxMessageBytes: takes})}}
				x.reply = map[byte][]byte{byte(subscription.KindSubscribe): control(t, &subscription.Subscribed{ID: 1})}
				b.publisherByHand(x, tags.Of(1))
				s := b.subscriber(bus.SubscriberConfig{})
				subscribe(t, s, tags.Of(1), func(bus.Message) { panic("handler") })
				x.send(page)
				time.Sleep(5 * time.Second)
				if s.Stats().Panics != 1 {
					t.Fatalf("got %+v, want a panic", s.Stats())
				}
				x.mu.Lock()
				defer x.mu.Unlock()
				told := slices.ContainsFunc(x.got, func(m []byte) bool { return m[0] == byte(subscription.KindDropped) })
				if told != (takes == subscription.TakesDropped) {
					t.Errorf("a publisher that takes %d bytes is told: %v", takes, told)
				}
			})
		})
	}
}

// What a subscriber claims is not above what it has received.
func TestPublisher_aSubscriberCannotDropWhatItDidNotReceive(t *testing.T) {
	dropped := func(messages uint64, list ...byte) *subscription.Dropped {
		return &subscription.Dropped{Cause: subscription.CauseOverflow, Messages: messages, List: list}
	}
	tests := []struct {
		name string
		send subscription.Message
		want string // "" if it is taken
	}{
		{"all in each of many subscriptions", dropped(2 << 16), ""},
		{"more than that", dropped(2<<16 + 1), "of 2 received"},
		{"2^64-1", dropped(math.MaxUint64), "of 2 received"},
		{"of a tag", dropped(2, 1, 2), ""},
		{"more of a tag than of all", dropped(1, 1, 2), "dropped 2 messages of tag"},
		{"none of a tag", dropped(1, 1, 0), "dropped 0 messages of tag"},
		{"of a tag that was not published", dropped(2, 3, 1), "tag 0x0000000000000003"},
		{"a bad list", dropped(1, 0xff), "protocol"},
		{"in another lane", &subscription.Dropped{Lane: 7, Cause: subscription.CausePanic, Messages: 1}, "lane 7"},
	}
	set, err := tags.Of(1).MarshalBinary()
	must(t, err)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 3)})
				x := &stranger{answer: [][]byte{
					hello(t, subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 30}), control(t, &subscription.Subscribe{ID: 1, Set: set}),
				}}
				backend, _ := b.stranger(x)
				must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
				time.Sleep(time.Second)
				must(t, p.Publish(1, nil))
				must(t, p.Publish(1, nil))
				time.Sleep(time.Second)
				x.send(control(t, &subscription.Received{Messages: 0}), control(t, &subscription.Received{Messages: 2}), control(t, test.send))
				time.Sleep(time.Second)
				if got := broken(p.member) == nil; got != (test.want == "") {
					t.Errorf("got taken %v; events %v", got, p.events)
				}
				wantEvent(t, p.member, test.want)
				if lost := p.Stats().Dropped.Overflowed; lost > 2<<16 {
					t.Errorf("the publisher counts %d", lost)
				}
			})
		})
	}
}

// TestPublisher_aLossWithAConnectionHasASpan: 45 s without a connection were booked at one instant.
func TestPublisher_aLossWithAConnectionHasASpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		time.Sleep(10 * time.Second)
		cut := time.Now()
		b.net.Partition(p.Addr(), anyPort(s.host))
		for range 45 {
			must(t, p.Publish(1, nil))
			p.Flush()
			time.Sleep(time.Second)
		}
		healed := time.Now()
		b.net.Heal(p.Addr(), anyPort(s.host))
		time.Sleep(time.Minute)
		for name, of := range map[string]teller{"publisher": p, "subscriber": s} {
			st, err := of.State(t.Context(), state.Question{Peers: 1})
			must(t, err)
			if len(st.Losses) != 1 || len(st.Peers) != 1 || len(st.Peers[0].Losses) != 1 {
				t.Fatalf("%s: got %+v, want losses of one cause", name, st)
			}
			for _, l := range []state.Loss{st.Losses[0], st.Peers[0].Losses[0]} {
				if l.First.Before(cut.Add(-5*time.Second)) || l.First.After(cut.Add(2*time.Second)) || l.Last.Before(healed) {
					t.Errorf("%s: got %+v, want the time from %v to %v", name, l, cut, healed)
				}
			}
		}
	})
}

// Reports are bounded: one in a second, however much is lost, and the memory for tags too.
func TestSubscriber_reportsOfWhatIsDroppedAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 5000
		b := newBed(t)
		all, err := tags.Range(1, n)
		must(t, err)
		p := b.publisher(bus.PublisherConfig{Tags: all})
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, all, func(bus.Message) { panic("handler") })
		before := b.net.Traffic(anyPort(s.host), p.Addr())
		for tag := tags.Tag(1); tag <= n; tag++ {
			must(t, p.Publish(tag, nil))
		}
		p.Flush()
		time.Sleep(1500 * time.Millisecond)
		if sum, _, _ := lossesFor(t, p, state.Panic); sum != n {
			t.Errorf("of %d messages the publisher knows %d", n, sum)
		}
		after := b.net.Traffic(anyPort(s.host), p.Addr())
		if got := fmt.Sprint(before, after); after.Bytes-before.Bytes > 2*subscription.MaxControlBytes {
			t.Errorf("the subscriber has sent more than a message: %s", got)
		}
	})
}
