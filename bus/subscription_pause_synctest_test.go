// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// TestSubscription_Pause_isSlow: publishers do what the policy says, and count alone what is
// lost. A publisher that comes meanwhile is not read either, and no silence is noticed.
func TestSubscription_Pause_isSlow(t *testing.T) {
	for _, policy := range []bus.Policy{{Kind: bus.Block}, {Kind: bus.DropNewest}} {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				cfg := bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: 16 << 10}}
				first := b.publisher(cfg)
				s := b.subscriber(bus.SubscriberConfig{})
				var sub *bus.Subscription
				got, paused := uint64(0), false
				count := func(batch []bus.Message) {
					if paused {
						t.Error("a page came after the pause")
					}
					got += uint64(len(batch))
					if got == 1 {
						paused = true
						sub.Pause()
					}
				}
				subscribed := make(chan error, 1)
				s.loop.Post(func() {
					var err error
					sub, err = s.SubscribeBatch(tags.Of(1), count, bus.SubscriptionConfig{Policy: policy})
					subscribed <- err
				})
				must(t, <-subscribed)
				must(t, sub.Wait(t.Context()))
				published, refused := uint64(0), false
				for range 10_000 {
					switch err := first.Publish(1, make([]byte, 100)); {
					case errors.Is(err, bus.ErrNoResources):
						refused = true
					default:
						must(t, err)
						published++
					}
					first.Flush()
					synctest.Wait()
				}
				second := b.publisher(cfg)
				synctest.Wait()
				time.Sleep(time.Minute)
				synctest.Wait()
				if lossless := policy.Lossless(); refused != lossless || s.Stats().Silent+s.Stats().Broken > 0 {
					t.Errorf("refused: got %v, want %v; got %+v, want no connection ended", refused, lossless, s.Stats())
				}
				s.loop.Post(func() { paused = false })
				sub.Resume()
				must(t, sub.Wait(t.Context()))
				must(t, second.WaitSubscribers(t.Context(), 1, tags.Of(1)))
				must(t, second.Publish(1, []byte("later")))
				must(t, first.Drain(t.Context()))
				must(t, second.Drain(t.Context()))
				synctest.Wait()
				st := s.Stats()
				if got+st.Lost != published+1 || st.Overflowed > 0 || (st.Lost == 0) != policy.Lossless() {
					t.Errorf("got %d of %d messages, %d lost, %d overflowed", got, published+1, st.Lost, st.Overflowed)
				}
			})
		})
	}
}

// TestSubscription_Pause_endsWithTheSubscription: the end of a subscription is the end of its pause.
func TestSubscription_Pause_endsWithTheSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		sub, err := s.SubscribeBatch(tags.Of(1), func([]bus.Message) {}, bus.SubscriptionConfig{})
		must(t, err)
		sub.Pause()
		synctest.Wait()
		must(t, sub.Unsubscribe(t.Context()))
		sub.Pause() // nothing
		record := newCollector()
		subscribe(t, s, tags.Of(1), record.handle)
		must(t, p.Publish(1, nil))
		must(t, p.Drain(t.Context()))
		if got := record.count(); got != 1 {
			t.Errorf("got %d messages, want the one for another subscription", got)
		}
	})
}

// TestPublisher_tellsWhatIsLeftOutBeforeTheEnd: messages that a policy leaves out are told once in a
// second, and at the latest before Unsubscribed.
func TestPublisher_tellsWhatIsLeftOutBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		sub, err := s.SubscribeWith(tags.Of(1), ignore, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Sample, Every: 10}})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		for range 100 {
			must(t, p.Publish(1, nil))
		}
		p.Flush()
		synctest.Wait()
		must(t, sub.Unsubscribe(t.Context()))
		synctest.Wait()
		told := uint64(0)
		for _, e := range s.of(bus.Gap) {
			told += e.Count
		}
		if want := s.Stats().LeftOut; told != want || want == 0 {
			t.Errorf("got %d messages told, want %d", told, want)
		}
	})
}
