// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/subscription"
	"tagbus/tags"
)

// bothRun is a sender and two receivers with a policy, of tag 1 and of tag 2,
// and what the test itself has seen of them.
type bothRun struct {
	t         *testing.T
	bed       *bed
	sender    *sender
	receivers [2]*receiver
	accepted  [2]uint64
	delivered [2][]uint64 // counters, each on the loop of its receiver
}

func newBothRun(t *testing.T, policy bus.Policy, queue, cache int) *bothRun {
	t.Helper()
	r := &bothRun{t: t, bed: newBed(t)}
	for i := range r.receivers {
		r.receivers[i] = r.bed.receiver(
			bus.ReceiverConfig{Tags: tags.Of(tags.Tag(i + 1)), Subscription: bus.SubscriptionConfig{Policy: policy}},
			func(m bus.Message) { r.delivered[i] = append(r.delivered[i], m.Counter) })
		r.bed.net.SetWindow(anybody, anyPort(r.receivers[i].host), 1024)
	}
	r.sender = r.bed.sender(bus.SenderConfig{
		Sending: bus.Sending{PageBytes: 512, MaxMessageBytes: 400, QueueBytes: queue, PoolBytes: 16 * queue, CacheMessages: cache},
	})
	must(t, r.sender.WaitReceivers(t.Context(), tags.Of(1, 2)))
	synctest.Wait() // the receivers know, too
	return r
}

// send sends n messages, in turn to both; those that the sender refuses are not.
func (r *bothRun) send(n int) {
	for i := range n {
		if r.sender.Send(tags.Tag(1+i%2), make([]byte, 100)) == nil {
			r.accepted[i%2]++
		}
		if i%8 == 7 {
			synctest.Wait()
		}
	}
}

// check waits until all is quiet and audits both receivers.
func (r *bothRun) check() {
	r.t.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
	for i, receiver := range r.receivers {
		tag := tags.Tag(i + 1)
		for _, problem := range append(audit(r.t, r.sender, receiver, tags.Of(tag)),
			auditSent(r.t, r.sender.Stats().PublisherStats, receiver.Instance(), r.accepted[i])...) {
			r.t.Errorf("receiver %d: %s", i, problem)
		}
		var lost uint64
		for _, n := range gaps(receiver.member) {
			lost += n
		}
		if got := uint64(len(r.delivered[i])); got+lost != r.accepted[i] || got == 0 {
			r.t.Errorf("tag %v: accepted %d, delivered %d, lost %d", tag, r.accepted[i], got, lost)
		}
	}
	if at := r.sender.TagLosses(r.receivers[0].Instance()); slices.ContainsFunc(at, func(l bus.TagLosses) bool { return l.Tag != 1 }) {
		r.t.Errorf("got %+v of the receiver of tag 1", at)
	}
}

var bothFaults = []struct {
	name string
	do   func(r *bothRun, sender, receiver *member)
}{
	{"a stall", func(r *bothRun, _, receiver *member) {
		r.bed.stall(receiver.host)
		r.send(200)
		r.bed.net.Resume(anybody, anyPort(receiver.host))
	}},
	{"a reset while stalled", func(r *bothRun, sender, receiver *member) {
		r.bed.stall(receiver.host)
		r.send(200)
		r.bed.net.Reset(anyPort(sender.host), anyPort(receiver.host))
		r.bed.net.Resume(anybody, anyPort(receiver.host))
	}},
	{"a silent network", func(r *bothRun, sender, receiver *member) {
		r.bed.net.Partition(anyPort(sender.host), anyPort(receiver.host))
		r.send(50)
		time.Sleep(20 * time.Second)
		r.send(50)
		r.bed.net.Heal(anyPort(sender.host), anyPort(receiver.host))
	}},
}

func TestSender_Stats_bothEndsCountTheSame(t *testing.T) {
	for _, text := range []string{"block", "disconnect:1h", "drop-newest", "drop-oldest", "latest", "sample:3"} {
		for _, fault := range bothFaults {
			t.Run(text+", "+fault.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					policy, err := bus.ParsePolicy(text)
					must(t, err)
					r := newBothRun(t, policy, 4096, 0)
					for range 2 {
						r.send(50)
						fault.do(r, r.sender.member, r.receivers[0].member)
						time.Sleep(10 * time.Second)
						r.send(50)
					}
					r.check()
				})
			})
		}
	}
}

func TestSender_cacheMakesUpForALostConnection(t *testing.T) {
	for _, fault := range bothFaults {
		t.Run(fault.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newBothRun(t, bus.Policy{}, 64<<10, 1000)
				r.send(50)
				fault.do(r, r.sender.member, r.receivers[0].member)
				time.Sleep(10 * time.Second)
				r.send(50)
				r.check()
				for i, receiver := range r.receivers {
					if want := counters(1, r.accepted[i]); !slices.Equal(r.delivered[i], want) {
						t.Errorf("receiver %d: got %v, want all of %d in order", i, r.delivered[i], len(want))
					}
					if lost := receiver.of(bus.Gap); len(lost) > 0 {
						t.Errorf("receiver %d: got %v, want no gaps", i, lost)
					}
				}
			})
		})
	}
}

// With a cache, what has not been sent before the connection was lost may come
// on the next one.
func TestSender_withACacheIsNotSureThatAMessageIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBothRun(t, bus.Policy{}, 64<<10, 1000)
		receiver := r.receivers[0]
		r.bed.stall(receiver.host)
		for range 6 { // until it is queued for later
			must(t, r.sender.Send(1, make([]byte, 300)))
			r.sender.Flush()
			synctest.Wait()
		}
		time.AfterFunc(500*time.Millisecond, func() { r.bed.net.Reset(anyPort(r.sender.host), anyPort(receiver.host)) })
		ack := acked(t, t.Context(), r.sender, 1)
		if !errors.Is(ack, bus.ErrReceiverLost) || ack.Lost {
			t.Errorf("got %+v, want that it may come yet", ack)
		}
		r.bed.net.Resume(anybody, anyPort(receiver.host))
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.Contains(r.delivered[0], ack.Counter) {
			t.Errorf("got %v, want message %d of the cache", r.delivered[0], ack.Counter)
		}
	})
}

// A message would be sent twice, and SendAcked would not know which of the two
// it waits for.
func TestReceiver_hasATagInOneLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		five, err := tags.Of(5).MarshalBinary()
		must(t, err)
		x := &stranger{answer: [][]byte{
			hello(t, subscription.Hello{Instance: "x", Role: subscription.RoleReceiver, MaxMessageBytes: 64 << 20}),
			control(t, &subscription.Subscribe{ID: 1, Set: five}),
			control(t, &subscription.Subscribe{ID: 2, Set: five, Lane: 1, Policy: "latest"}),
		}}
		b.receiverByHand(x, tags.Of(5))
		s := b.sender(bus.SenderConfig{Tags: tags.Of(5)})
		must(t, s.WaitReceivers(t.Context(), tags.Of(5)))
		synctest.Wait()
		refused := s.of(bus.Refused)
		if len(refused) != 1 || !strings.Contains(refused[0].Err.Error(), "lanes 0 and 1") || len(s.Stats().Subscribers[0].Lanes) != 1 {
			t.Errorf("got events %v and %+v, want the second lane refused", s.events, s.Stats().Subscribers)
		}
		// The connection goes on, and ErrProtocol is the cause with which one is closed.
		if lost := s.of(bus.Lost); len(refused) == 1 && (errors.Is(refused[0].Err, bus.ErrProtocol) || len(lost) > 0 || x.closed > 0) {
			t.Errorf("got %v, and ends %v, want a refusal that is no protocol violation", refused[0].Err, lost)
		}
		must(t, s.Send(5, []byte("a")))
	})
}

// A group of subscriptions becomes active as a whole, or not at all if one of them
// belongs to another receiver: else a message could go to a receiver that is being
// turned away.
func TestSender_aGroupWithAnothersTagIsRefusedAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		in := make(inbox)
		b.receiver(bus.ReceiverConfig{Common: bus.Common{Name: "owner"}, Tags: tags.Of(1)}, in.handle)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1, 2, 3)})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1)))
		ask := func(id uint64, tag tags.Tag, withNext bool) []byte {
			set, err := tags.Of(tag).MarshalBinary()
			must(t, err)
			return control(t, &subscription.Subscribe{ID: id, Set: set, WithNext: withNext})
		}
		x := &stranger{answer: [][]byte{
			hello(t, subscription.Hello{Instance: "x", Role: subscription.RoleReceiver, MaxMessageBytes: 64 << 20}),
			ask(1, 2, true), ask(2, 1, true), ask(3, 3, false),
		}}
		b.receiverByHand(x, tags.Of(2, 3)) // it does not announce all that it asks for
		s.when(bus.Duplicate, func() {
			for _, tag := range []tags.Tag{2, 3} {
				if err := s.Send(tag, nil); !errors.Is(err, bus.ErrNoReceiver) {
					t.Errorf("tag %v: got %v, want ErrNoReceiver", tag, err)
				}
			}
		})
		must(t, s.Send(1, []byte("a")))
		time.Sleep(time.Second)
		synctest.Wait()
		duplicates := s.of(bus.Duplicate)
		if len(duplicates) != 1 || !duplicates[0].Tags.Equal(tags.Of(1)) || duplicates[0].Other.Name != "owner" || len(s.of(bus.Subscribed)) != 1 {
			t.Errorf("got events %v, want one of two receivers, and one subscription", s.events)
		}
		for _, data := range x.got {
			if m, err := subscription.Decode(data); err == nil && m.Kind() == subscription.KindSubscribed {
				t.Errorf("got %+v, want none", m)
			}
		}
		if x.closed == 0 || len(x.got) == 0 {
			t.Errorf("got %d messages and %d ends, want a refusal and the end", len(x.got), x.closed)
		}
		in.want(t, "", 1, "a")
	})
}
