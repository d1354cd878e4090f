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
	"tagbus/tags"
)

// TestSubscription_aMonitorHoldsUpNoRecorder: a monitor that reads its Messages too
// slowly, and may lose them, stopped the connection that it shares with a recorder.
func TestSubscription_aMonitorHoldsUpNoRecorder(t *testing.T) {
	const n, kept = 3000, 50
	for _, text := range []string{"drop-newest", "drop-oldest", "latest", "sample:1", "drop-newest, batches", "drop-oldest, batches", "latest, batches"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text, batches := strings.CutSuffix(text, ", batches")
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: 16 << 10}})
				s := b.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: kept * (64 + 100)}})
				record := newCollector()
				subscribe(t, s, tags.Of(1, 2), record.handle)
				policy, err := bus.ParsePolicy(text)
				must(t, err)
				monitor, err := s.SubscribeWith(tags.Of(1, 2), nil, bus.SubscriptionConfig{Policy: policy, Batches: batches})
				must(t, err)
				must(t, monitor.Wait(t.Context()))
				for i := range n {
					must(t, p.Publish(tags.Tag(1+i%2), make([]byte, 100)))
					p.Flush()
					synctest.Wait()
				}
				must(t, p.Drain(t.Context()))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if got := record.count(); got != n || p.Stats().Refusals > 0 {
					t.Errorf("the recorder has %d messages of %d, and the publisher was held up %d times", got, n, p.Stats().Refusals)
				}
				var told uint64
				for _, e := range s.of(bus.Gap) {
					if !errors.Is(e.Err, bus.ErrQueueFull) {
						t.Errorf("got %v, want gaps because of the queue only", e)
					}
					told += e.Count
				}
				must(t, monitor.Close())
				read := make(map[tags.Tag][]uint64)
				all := uint64(0)
				for m, err := range monitor.Messages(t.Context()) {
					must(t, err)
					read[m.Tag] = append(read[m.Tag], m.Counter)
					all++
				}
				for tag := tags.Tag(1); tag <= 2; tag++ {
					c := read[tag]
					first, last := uint64(1), uint64(kept/2)
					if policy.Kind == bus.DropOldest {
						first, last = n/2-kept/2+1, n/2
					}
					if policy.Kind == bus.Latest {
						if len(c) == 0 || len(c) > kept || c[len(c)-1] != n/2 {
							t.Errorf("got messages %v of tag %v, want few and the last", c, tag)
						}
						continue
					}
					if !slices.Equal(c, counters(first, last)) {
						t.Errorf("got messages %v of tag %v, want %d to %d", c, tag, first, last)
					}
				}
				stats, err := s.TagStats(t.Context())
				must(t, err)
				var overflowed uint64
				for _, st := range stats {
					overflowed += st.Overflowed
					if st.Overflowed > 0 && st.Config.Policy != policy || st.Losses != (bus.Losses{}) || st.Delivered != n/2 {
						t.Errorf("got %+v, want everything delivered, and an overflow with %v only", st, policy)
					}
				}
				lost := monitor.Overflowed()
				if lost != n-all || lost == 0 || told != lost || overflowed != lost || s.Stats().Overflowed != lost || s.Stats().Lost != 0 {
					t.Errorf("read %d of %d: counted %d by the subscription, %d by tag, %d by the subscriber, told %d", all, n, lost, overflowed, s.Stats().Overflowed, told)
				}
			})
		})
	}
	t.Run("and a recorder that reads Messages", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: 16 << 10}})
			s := b.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: 10_000}})
			var subs []*bus.Subscription
			for _, kind := range []bus.PolicyKind{bus.Block, bus.Latest} {
				sub, err := s.SubscribeWith(tags.Of(1), nil, bus.SubscriptionConfig{Policy: bus.Policy{Kind: kind}})
				must(t, err)
				must(t, sub.Wait(t.Context()))
				subs = append(subs, sub)
			}
			got := make(chan uint64)
			go func() { got <- readAll(t.Context(), subs[0]) }()
			for range n {
				must(t, p.PublishContext(t.Context(), 1, make([]byte, 100)))
			}
			must(t, p.Drain(t.Context()))
			must(t, subs[0].Close())
			n0 := <-got
			synctest.Wait() // for the last event
			if n0 != n || len(p.of(bus.Lost)) != 1 {
				t.Errorf("the recorder has read %d messages of %d; events of the publisher %v", n0, n, p.events)
			}
		})
	})
}

// TestReceiver_doesNotAcknowledgeWhatItsQueueHasLost: to a sender a message is handled
// when it is in the queue.
func TestReceiver_doesNotAcknowledgeWhatItsQueueHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{
			Tags: tags.Of(1), Receiving: bus.Receiving{QueueBytes: 3 * (64 + 10)},
			Subscription: bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropNewest}},
		}, nil)
		s := b.sender(bus.SenderConfig{})
		var results []error
		for range 5 {
			results = append(results, s.SendAcked(t.Context(), 1, make([]byte, 10)))
		}
		for i, err := range results {
			if got, want := errors.Is(err, bus.ErrNotHandled), i >= 3; got != want || !want && err != nil {
				t.Errorf("message %d: got %v, want ErrNotHandled: %v", i, err, want)
			}
		}
		if n := r.Stats().Overflowed; n != 2 {
			t.Errorf("got %d messages lost in the queue, want 2", n)
		}
	})
}
