// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// stuck subscribes to tag 1 with a queue that is never read. Soon the subscriber reads
// no more, and only beats.
func (b *bed) stuck(policy bus.Policy) (*subscriber, *bus.Subscription) {
	b.tb.Helper()
	return b.stuckOn(tags.Of(1), policy)
}

func (b *bed) stuckOn(set tags.Set, policy bus.Policy) (*subscriber, *bus.Subscription) {
	b.tb.Helper()
	s := b.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: 2000}})
	b.net.SetWindow(anybody, anyPort(s.host), 2048)
	sub, err := s.SubscribeWith(set, nil, bus.SubscriptionConfig{Policy: policy})
	must(b.tb, err)
	must(b.tb, sub.Wait(b.tb.Context()))
	return s, sub
}

// small is a publisher whose subscribers can hold eight messages of 900 bytes.
func small(cfg bus.PublisherConfig) bus.PublisherConfig {
	cfg.Tags, cfg.PageBytes, cfg.QueueBytes, cfg.MaxMessageBytes = tags.Of(1, 2), 1024, 8192, 1000
	return cfg
}

func disconnectAfter(d time.Duration) bus.Policy {
	return bus.Policy{Kind: bus.Disconnect, After: d}
}

// A subscriber that takes nothing is cut off when its policy or the publisher
// says so, and not before.
func TestPublisher_disconnectsASubscriberThatTakesNothing(t *testing.T) {
	tests := []struct {
		name     string
		policy   bus.Policy
		maxStall time.Duration
		want     span // from the last that it took; zero: never
	}{
		{"the policy's time", disconnectAfter(5 * time.Second), 0, span{5 * time.Second, 6 * time.Second}},
		{"a time that is shorter than a beat", disconnectAfter(200 * time.Millisecond), 0, span{200 * time.Millisecond, 300 * time.Millisecond}},
		{"the shortest time", disconnectAfter(time.Millisecond), 0, span{time.Millisecond, 20 * time.Millisecond}},
		{"a long time", disconnectAfter(10 * time.Minute), 0, span{10 * time.Minute, 10*time.Minute + time.Second}},
		{"the publisher's time, which is shorter", disconnectAfter(5 * time.Second), 2 * time.Second, span{2 * time.Second, 3 * time.Second}},
		{"the policy's time, which is shorter", disconnectAfter(5 * time.Second), time.Hour, span{5 * time.Second, 6 * time.Second}},
		{"blocking within the publisher's time", bus.Policy{}, 7 * time.Second, span{7 * time.Second, 8 * time.Second}},
		{"blocking for ever", bus.Policy{}, 0, span{}},
		{"a lossy policy", bus.Policy{Kind: bus.DropNewest}, time.Second, span{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(small(bus.PublisherConfig{Sending: bus.Sending{MaxStall: test.maxStall}}))
				b.stuck(test.policy)
				for range 20 {
					_ = p.Publish(1, make([]byte, 900))
					synctest.Wait()
				}
				start := time.Now()
				time.Sleep(max(20*time.Second, test.want.most+time.Minute))
				synctest.Wait()
				e, at := p.first(bus.Lost)
				var stall *bus.StallError
				switch found := errors.As(e.Err, &stall); {
				case found != (test.want != span{}), found != (p.Stats().Stalled > 0):
					t.Errorf("got %v, want it disconnected: %v", p.events, test.want != span{})
				case !found:
				case at.Sub(start) < test.want.least || at.Sub(start) > test.want.most:
					t.Errorf("disconnected after %v, want %v to %v", at.Sub(start), test.want.least, test.want.most)
				case !errors.Is(e.Err, bus.ErrStalled) || stall.Limit != test.want.least || stall.For > at.Sub(start):
					t.Errorf("got cause %q after %v", e.Err, at.Sub(start))
				}
			})
		})
	}
}

// The other subscribers wait until then and go on. The one that was cut off comes back
// and learns what it missed.
func TestPublisher_aDisconnectedSubscriberHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{}))
		other := newCollector()
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), other.handle)
		slow, sub := b.stuck(disconnectAfter(5 * time.Second))
		const messages = 100
		start := time.Now()
		for range messages {
			must(t, p.PublishContext(t.Context(), 1, make([]byte, 900)))
		}
		if d := time.Since(start); d < 5*time.Second || d > 6*time.Second {
			t.Errorf("published in %v, want a wait of 5 s", d)
		}
		read := make(chan uint64, 1)
		go func() { read <- readAll(t.Context(), sub) }()
		time.Sleep(time.Minute)
		must(t, p.PublishContext(t.Context(), 1, make([]byte, 900)))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		must(t, sub.Close())
		got := <-read
		if lost := gaps(slow.member)[1]; got+lost != messages+1 || lost == 0 {
			t.Errorf("the slow one: got %d messages and %d in gaps, want %d", got, lost, messages+1)
		}
		if n := other.count(); n != messages+1 || len(other.bad) > 0 {
			t.Errorf("the other one: got %d messages, want %d; %v", n, messages+1, other.bad)
		}
	})
}

// A subscriber that takes something now and then, or has nothing to take, stays.
func TestPublisher_doesNotDisconnectASlowSubscriber(t *testing.T) {
	t.Run("a message each four of five seconds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			p := b.publisher(small(bus.PublisherConfig{Sending: bus.Sending{MaxStall: 6 * time.Second}}))
			_, sub := b.stuck(disconnectAfter(5 * time.Second))
			go func() {
				for p.PublishContext(t.Context(), 1, make([]byte, 900)) == nil {
					continue
				}
			}()
			n := 0
			for _, err := range sub.Messages(t.Context()) {
				must(t, err)
				time.Sleep(4 * time.Second / 3) // a queue that is full is emptied first
				if n++; n == 500 {
					break
				}
			}
			if st := p.Stats(); st.Stalled > 0 || len(p.of(bus.Lost)) > 0 {
				t.Errorf("got %v", p.events)
			}
		})
	})
	t.Run("nothing but a page under construction", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			p := b.publisher(small(bus.PublisherConfig{Sending: bus.Sending{FlushInterval: 10 * time.Minute}}))
			c := newCollector()
			s := b.subscriber(bus.SubscriberConfig{})
			sub, err := s.SubscribeWith(tags.Of(1), c.handle, bus.SubscriptionConfig{Policy: disconnectAfter(time.Second)})
			must(t, err)
			must(t, sub.Wait(t.Context()))
			time.Sleep(time.Hour)
			must(t, p.Publish(1, nil))
			time.Sleep(time.Hour)
			if len(p.of(bus.Lost)) > 0 || c.count() != 1 {
				t.Errorf("got %d messages, want 1; events %v", c.count(), p.events)
			}
		})
	})
	t.Run("while the publisher itself was stopped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			p := b.publisher(small(bus.PublisherConfig{}))
			s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{HeartbeatTimeout: time.Hour}})
			sub, err := s.SubscribeWith(tags.Of(1), ignore, bus.SubscriptionConfig{Policy: disconnectAfter(time.Second)})
			must(t, err)
			must(t, sub.Wait(t.Context()))
			for range 20 {
				p.loop.Freeze()
				must(t, p.Publish(1, make([]byte, 900)))
				p.Flush()
				time.Sleep(10 * time.Second)
				p.loop.Thaw()
				time.Sleep(300 * time.Millisecond)
			}
			if len(p.of(bus.Lost)) > 0 {
				t.Errorf("got %v", p.events)
			}
		})
	})
}

// Drain does not wait for ever for a subscriber that takes nothing.
func TestPublisher_Drain_endsWithTheLongestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{Sending: bus.Sending{MaxStall: 10 * time.Second}}))
		b.stuck(bus.Policy{})
		fill(t, p, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		if err := p.Drain(ctx); !errors.Is(err, bus.ErrUndelivered) || time.Since(start) > 12*time.Second {
			t.Errorf("got %v after %v, want ErrUndelivered after 10 s", err, time.Since(start))
		}
	})
}
