// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// occupy gives the work queue of a subscriber a long job, and then holds its loop for a
// time.
func occupy(loop *memnet.Loop, stats func(context.Context) ([]bus.TagStats, error), hold time.Duration) {
	release := make(chan struct{})
	loop.Post(func() { <-release })
	go func() { _, _ = stats(context.Background()) }()
	synctest.Wait()
	loop.Post(func() { time.Sleep(hold) })
	close(release)
}

// A publisher was no longer in the directory, and still owed messages. If the
// subscriber's work queue had other work just then, it gave the publisher up before it
// dialed, or left right after the hello. The account stayed open, and no event said so.
func TestSubscriber_thatIsBusySeeksAPublisherThatEnds(t *testing.T) {
	t.Cleanup(bus.SetSliceSteps(1))
	for ago := time.Duration(0); ago < 200*time.Millisecond; ago += 4 * time.Millisecond {
		name := fmt.Sprintf("busy %v after the end has begun", ago)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newEndRun(t, bus.PublisherConfig{})
				r.publish(100)
				time.Sleep(time.Second)
				r.reset()
				synctest.Wait()
				r.publish(10)
				done := make(chan error, 1)
				go func() { done <- r.pub.Drain(context.Background()) }()
				synctest.Wait()
				time.Sleep(ago)
				occupy(r.sub.loop, r.sub.TagStats, 12*time.Millisecond)
				must(t, <-done)
				time.Sleep(time.Minute)
				r.check(name)
			})
		})
	}
}

// A subscriber that is closed by its handler did not say that it had received the
// messages of that page.
func TestSubscriber_Close_inAHandlerConfirmsWhatItHasHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, s := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)}), b.subscriber(bus.SubscriberConfig{})
		got := 0
		subscribe(t, s, tags.Of(1), func(bus.Message) {
			if got++; got == 7 {
				must(t, s.Close())
			}
		})
		for range 10 {
			must(t, p.Publish(1, make([]byte, 10)))
		}
		p.Flush()
		time.Sleep(time.Second)
		if st := p.Stats(); got != 7 || st.Unconfirmed != 3 {
			t.Errorf("closed in the handler of message 7 of 10: got %d handled, %d unconfirmed, want 7, 3", got, st.Unconfirmed)
		}
	})
}

// TestReceiver_thatIsBusyWhenASenderComesBack ends it in order meanwhile.
func TestReceiver_thatIsBusyWhenASenderComesBack(t *testing.T) {
	t.Cleanup(bus.SetSliceSteps(1))
	for hold := time.Duration(0); hold < 300*time.Millisecond; hold += 10 * time.Millisecond {
		t.Run(hold.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				r := b.receiver(bus.ReceiverConfig{Tags: tagRange(t, 1, 500)}, ignore)
				out := b.sender(bus.SenderConfig{Tags: tagRange(t, 1, 500), Dialing: bus.Dialing{ReconnectMin: 10 * time.Millisecond, ReconnectMax: 10 * time.Millisecond}})
				must(t, out.WaitReceivers(t.Context(), tags.Of(1)))
				for tag := tags.Tag(1); tag <= 500; tag++ {
					must(t, out.SendAcked(t.Context(), tag, nil))
				}
				b.net.SetDelay(anybody, anybody, 5*time.Millisecond)
				drained := make(chan error, 1)
				r.when(bus.Connected, func() {
					go func() { drained <- r.Drain(context.Background()) }()
					time.Sleep(time.Millisecond)
				})
				occupy(r.loop, r.TagStats, hold)
				b.net.Reset(anybody, anybody)
				must(t, <-drained)
				if problems := r.of(bus.Problem); len(problems) > 0 {
					t.Errorf("got %v, want no problem", problems)
				}
			})
		})
	}
}
