// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// The other direction: a sender waits for a receiver that it has lost.
func TestSender_Drain_waitsForAReceiverThatItHasLost(t *testing.T) {
	for _, before := range []time.Duration{-time.Millisecond, 0, 50 * time.Millisecond, 120 * time.Millisecond} {
		t.Run(before.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				b.net.SetDelay(anybody, anybody, 5*time.Millisecond)
				in := newCollector()
				rcv := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, in.handle)
				s := b.sender(bus.SenderConfig{})
				must(t, s.SendContext(t.Context(), 1, nil))
				time.Sleep(time.Second)
				for range 99 {
					must(t, s.Send(1, nil))
				}
				s.Flush()
				reset := func() { b.net.Reset(anyPort(s.host), anyPort(rcv.host)) }
				done := make(chan error, 1)
				drain := func() { done <- s.Drain(context.Background()) }
				if before < 0 {
					go drain()
					time.Sleep(-before)
					reset()
				} else {
					reset()
					time.Sleep(before)
					go drain()
				}
				must(t, <-done)
				time.Sleep(time.Minute)
				if got, lost := uint64(in.count()), gaps(rcv.member)[1]; got+lost != 100 || s.Stats().Unconfirmed != 0 {
					t.Errorf("received %d, lost %d, unconfirmed %d of 100; events %v", got, lost, s.Stats().Unconfirmed, rcv.events)
				}
				if len(rcv.of(bus.Goodbye)) != 1 || len(rcv.of(bus.Vanished)) != 0 {
					t.Errorf("got events %v, want one goodbye", rcv.events)
				}
			})
		})
	}
}

// A receiver that was lost just when Drain had begun was not dialed again.
func TestSender_Drain_dialsAReceiverThatIsLostAsItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.net.SetDelay(anybody, anybody, 5*time.Millisecond)
		rcv := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) {})
		s := b.sender(bus.SenderConfig{})
		must(t, s.SendContext(t.Context(), 1, nil))
		time.Sleep(time.Second)
		must(t, s.Send(1, nil))
		s.Flush()
		bus.BeginDrain(s.Sender)
		b.net.Reset(anyPort(s.host), anyPort(rcv.host))
		synctest.Wait()
		must(t, s.Drain(t.Context()))
	})
}
