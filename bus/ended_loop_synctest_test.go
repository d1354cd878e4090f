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

// A Drain that the loop did not hear of waited for the end of its context.
func TestPublisher_Drain_behindTheEndOfTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(7)}, ignore)
		out := b.sender(bus.SenderConfig{Tags: tags.Of(7)})
		must(t, out.WaitReceivers(t.Context(), tags.Of(7)))
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), ignore)
		for _, m := range []*member{p.member, r.member, out.member} {
			m.loop.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		for name, drain := range map[string]func(context.Context) error{
			"Publisher": p.Drain, "Sender": out.Drain, "Receiver": r.Drain,
		} {
			if err := drain(ctx); !errors.Is(err, bus.ErrClosed) || time.Since(began) > 0 {
				t.Errorf("%s.Drain: got %v after %v, want ErrClosed at once", name, err, time.Since(began))
			}
		}
	})
}
