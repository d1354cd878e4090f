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

// TestPublisher_aCallbackOfAnotherLoopDoesNotWaitEither: two nodes whose handlers waited for each
// other never went on. A method that waits returns ErrOnLoop on every loop of the
// process.
func TestPublisher_aCallbackOfAnotherLoopDoesNotWaitEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		other := b.subscriber(bus.SubscriberConfig{}) // of another node
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 1024, QueueBytes: 1024, MaxMessageBytes: 900}})
		s := b.subscriber(bus.SubscriberConfig{})
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(7)}, nil)
		out := b.sender(bus.SenderConfig{Tags: tags.Of(7, 8)})
		must(t, out.WaitReceivers(t.Context(), tags.Of(7)))
		requester, err := bus.NewRequester(out.Sender, s.Subscriber, bus.RequesterConfig{Command: 7, Reply: 2})
		must(t, err)
		full := subscribe(t, s, tags.Of(1), ignore)
		queue := subscribe(t, s, tags.Of(2), nil)
		lonely, err := s.Subscribe(tags.Of(99), ignore)
		must(t, err)
		b.stall(s.host)
		fill(t, p, 1)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		calls := []struct {
			name string
			call func() error
		}{
			{"Publisher.WaitSubscribers", func() error { return p.WaitSubscribers(ctx, 9, tags.Of(1)) }},
			{"Publisher.PublishContext", func() error { return p.PublishContext(ctx, 1, make([]byte, 900)) }},
			{"Publisher.ReplyContext", func() error { return p.ReplyContext(ctx, bus.RequestID{}, 1, 0, make([]byte, 900)) }},
			{"Publisher.PublishBatchContext", func() error {
				_, err := p.PublishBatchContext(ctx, []bus.Message{{Tag: 1, Data: make([]byte, 900)}})
				return err
			}},
			{"Publisher.Drain", func() error { return p.Drain(ctx) }},
			{"Subscription.Wait", func() error { return lonely.Wait(ctx) }},
			{"Subscription.Unsubscribe", func() error { return full.Unsubscribe(ctx) }},
			{"Subscription.Messages", func() error { return firstOf(queue.Messages(ctx)) }},
			{"Subscriber.TagStats", func() error { _, err := s.TagStats(ctx); return err }},
			{"Requester.Request", func() error { _, err := requester.Request(ctx, nil); return err }},
			{"Sender.SendContext", func() error { return out.SendContext(ctx, 8, nil) }},
			{"Sender.SendAcked", func() error { return out.SendAcked(ctx, 7, nil) }},
			{"Sender.WaitReceivers", func() error { return out.WaitReceivers(ctx, tags.Of(8)) }},
			{"Sender.Drain", func() error { return out.Drain(ctx) }},
			{"Receiver.Messages", func() error { return firstOf(r.Messages(ctx)) }},
			{"Receiver.TagStats", func() error { _, err := r.TagStats(ctx); return err }},
			{"Receiver.Drain", func() error { return r.Drain(ctx) }},
		}
		for _, c := range calls {
			other.loop.Do(func() {
				began := time.Now()
				if err := c.call(); !errors.Is(err, bus.ErrOnLoop) || time.Since(began) > 0 {
					t.Errorf("%s in a callback of another loop: got %v after %v, want ErrOnLoop at once", c.name, err, time.Since(began))
				}
			})
		}
		other.loop.Do(func() { // what need not wait works
			if err := p.PublishContext(ctx, 2, nil); err != nil && !errors.Is(err, bus.ErrOnLoop) {
				t.Errorf("PublishContext: got %v, want nil or ErrOnLoop", err)
			}
			if err := full.Wait(ctx); err != nil {
				t.Errorf("Wait for what has been acknowledged: got %v, want nil", err)
			}
			if err := out.SendContext(ctx, 7, nil); err != nil {
				t.Errorf("SendContext with room: got %v, want nil", err)
			}
		})
	})
}

// firstOf returns the error of the first step.
func firstOf(messages func(func(bus.Message, error) bool)) (err error) {
	for _, err = range messages {
		break
	}
	return err
}

// TestPublisher_Close_twoNodesMayCloseEachOther: each in a callback of its own, at the same time.
func TestPublisher_Close_twoNodesMayCloseEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, s := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)}), b.subscriber(bus.SubscriberConfig{})
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(7)}, ignore)
		out := b.sender(bus.SenderConfig{Tags: tags.Of(7)})
		must(t, out.WaitReceivers(t.Context(), tags.Of(7)))
		subscribe(t, s, tags.Of(1), ignore)
		both, closed := make(chan struct{}, 2), make(chan error, 4)
		meet := func() { // both are inside a callback
			both <- struct{}{}
			for len(both) < 2 {
				time.Sleep(time.Millisecond)
			}
		}
		p.when(bus.Lost, func() { meet(); closed <- s.Close(); closed <- r.Close() })
		s.when(bus.Lost, func() { meet(); closed <- p.Close(); closed <- out.Close() })
		b.net.Reset(anybody, anybody)
		for range 4 {
			select {
			case err := <-closed:
				must(t, err)
			case <-time.After(time.Minute):
				t.Fatal("two callbacks that close the other's node: got a deadlock, want both to return")
			}
		}
	})
}

// TestPublisher_Close_behindOneThatCouldNotWait: the first call is made inside a callback, of
// its own loop or another one, and returns at once. The second one, elsewhere, returned
// at once, too, while callbacks were still to come.
func TestPublisher_Close_behindOneThatCouldNotWait(t *testing.T) {
	for _, where := range []string{"its own loop", "another loop"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p, s := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)}), b.subscriber(bus.SubscriberConfig{})
				subscribe(t, s, tags.Of(1), ignore)
				synctest.Wait() // nothing is on its way through the loop
				release := make(chan struct{})
				p.loop.Post(func() {
					if where == "its own loop" {
						must(t, p.Close())
					}
					<-release
				})
				if where != "its own loop" {
					s.loop.Do(func() { must(t, p.Close()) })
				}
				synctest.Wait()
				closed := make(chan struct{})
				go func() {
					defer close(closed)
					must(t, p.Close())
				}()
				synctest.Wait()
				select {
				case <-closed:
					t.Error("second Close: returned while the loop had not closed the connections, want it to wait")
				default:
				}
				close(release)
				<-closed
				if got := len(p.Stats().Subscribers); got != 0 {
					t.Errorf("after Close: got %d connections, want 0", got)
				}
			})
		})
	}
}
