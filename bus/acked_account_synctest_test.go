// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// Messages that a receiver acknowledged shortly before it was killed counted as
// unconfirmed: only the total that it reports with each heartbeat was taken into
// account.
func TestSender_SendAcked_whatWasAcknowledgedIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2)}, ignore)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1, 2)})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1, 2)))
		for range 10 {
			must(t, s.Send(2, nil))
			s.Flush() // a page before the one that is acknowledged
			must(t, s.SendAcked(t.Context(), 1, nil))
		}
		b.stall(r.host)
		must(t, s.Send(2, nil))
		s.Flush()
		synctest.Wait()
		b.net.Kill(r.host)
		time.Sleep(time.Minute)
		if got := s.Stats().Unconfirmed; got != 1 {
			t.Errorf("killed after 20 messages of which the last was acknowledged, and 1: got %d unconfirmed, want 1", got)
		}
	})
}
